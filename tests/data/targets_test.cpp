// targets=: each kind from files made here, through the whole of open_dataset.
#include "quench/targets.h"

#include <ATen/ATen.h>

#include "data/files.h"
#include "data/targets/item_file.h"
#include "quench/npz.h"

namespace quench {
namespace {

std::string picture(const std::string& name) { return contents_of(test_data("images/" + name)); }  // 37 high, 53 wide

std::string opened(const std::string& spec) {
  return message_of([&] { open_dataset(spec)->get(0); });
}

const char* const kInstances = R"({
  "images": [{"id": 7, "file_name": "a.png", "width": 53, "height": 37}, {"id": 9, "file_name": "b.png"}],
  "annotations": [
    {"id": 1, "image_id": 7, "bbox": [1, 2, 10, 20], "category_id": 18, "iscrowd": 0, "area": 150.5},
    {"id": 2, "image_id": 7, "bbox": [5, 5, 2, 3], "category_id": 1, "iscrowd": 1}],
  "categories": [{"id": 1, "name": "person"}, {"id": 90, "name": "toothbrush"}]})";

TEST(Targets, CocoGivesBoxesByFileName) {
  const TempFolder folder;
  folder.write("val/a.png", picture("rgb.png"));
  folder.write("val/b.png", picture("rgb.png"));
  folder.write("val/c.png", picture("rgb.png"));
  const std::string json = folder.write("instances.json", kInstances);
  const auto data = open_dataset("images:" + folder.path("val") + "?norm=none&targets=coco:" + json);
  EXPECT_EQ(data->target_kind(), "coco");
  const NamedValues found = data->get(0).targets;
  EXPECT_TRUE(found.at("boxes").tensor().equal(
      at::tensor({1.0, 2.0, 11.0, 22.0, 5.0, 5.0, 7.0, 8.0}, at::kDouble).view({2, 4})));
  EXPECT_TRUE(found.at("labels").tensor().equal(at::tensor({18, 1}, at::kLong)));
  EXPECT_TRUE(found.at("areas").tensor().equal(at::tensor({150.5, 6.0}, at::kDouble)));  // absent: the box's
  EXPECT_TRUE(found.at("crowd").tensor().equal(at::tensor({0, 1}).to(at::kBool)));
  EXPECT_TRUE(found.at("categories").tensor().equal(at::tensor({1, 18, 90}, at::kLong)));
  EXPECT_EQ(data->get(1).targets.at("boxes").tensor().size(0), 0);
  EXPECT_CONTAINS(message_of([&] { data->get(2); }), "the picture is not among the 2 images of '" + json + "'");
  EXPECT_CONTAINS(message_of([&] { data->get(2); }), "in the targets of 'c.png'");
}

TEST(Targets, CocoSaysWhatIsWrongWithTheFile) {
  const TempFolder folder;
  folder.write("val/a.png", picture("rgb.png"));
  const auto error = [&](const std::string& json) {
    return opened("images:" + folder.path("val") + "?norm=none&targets=coco:" + folder.write("i.json", json));
  };
  EXPECT_CONTAINS(error("{"), "is not JSON");
  EXPECT_CONTAINS(error("[]"), "the file has no list 'images'; COCO's instances JSON was expected");
  EXPECT_CONTAINS(error(R"({"images": [{"id": 1}], "annotations": []})"), "is not as COCO's instances JSON is");
  EXPECT_CONTAINS(error(R"({"images": [], "annotations": [{"image_id": 3}]})"),
                  "an annotation is of image 3, which is not in 'images'");
  EXPECT_CONTAINS(error(R"({"images": [{"id": 1, "file_name": "a"}], "annotations": [{"image_id": 1, "bbox": [1]}]})"),
                  "'bbox' is [1], not [x, y, width, height]");
  EXPECT_CONTAINS(error(R"({"images": [{"id": 1, "file_name": "a"}, {"id": 2, "file_name": "a"}], "annotations": []})"),
                  "the image 'a' is listed twice");
}

at::Tensor numbered_mask() { return at::arange(37 * 53, at::kLong).view({37, 53}); }

TEST(Targets, MasksFollowTheirPictures) {
  const TempFolder folder;
  folder.write("val/a.png", picture("rgb.png"));
  std::filesystem::create_directories(folder.path("masks"));
  write_npz(folder.path("one.npz"), {{"array", numbered_mask()}});
  // .npy of the same array, as NumPy writes it.
  const std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (37, 53), }";
  std::string npy = std::string("\x93NUMPY\x01\x00", 8);
  const std::string padded = header + std::string(117 - header.size(), ' ') + "\n";
  npy += static_cast<char>(padded.size());
  npy += '\0';
  npy += padded;
  const at::Tensor mask = numbered_mask();
  npy.append(static_cast<const char*>(mask.const_data_ptr()), mask.nbytes());
  folder.write("masks/a.npy", npy);
  const std::string data = "images:" + folder.path("val") + "?norm=none&targets=masks:" + folder.path("masks");
  EXPECT_TRUE(open_dataset(data)->get(0).targets.at("mask").tensor().equal(mask));
  // The middle 10x10 begins at row 14 ((37 - 10) / 2 = 13.5, to even) and column 22 (21.5).
  const at::Tensor cut = open_dataset(data + "&crop=10")->get(0).targets.at("mask").tensor();
  const Placement placed = open_dataset(data + "&crop=10")->get(0).placement;
  EXPECT_TRUE(
      cut.equal(mask.slice(0, -static_cast<std::int64_t>(placed.top), -static_cast<std::int64_t>(placed.top) + 10)
                    .slice(1, -static_cast<std::int64_t>(placed.left), -static_cast<std::int64_t>(placed.left) + 10)));
  // Twice the size: every pixel stands for four; the letterbox has nothing above and below.
  const at::Tensor twice = open_dataset(data + "&fit=letterbox&size=106x106")->get(0).targets.at("mask").tensor();
  EXPECT_EQ(twice[0][0].item<std::int64_t>(), -1);
  EXPECT_TRUE(twice.slice(0, 16, 90).equal(mask.repeat_interleave(2, 0).repeat_interleave(2, 1)));
  EXPECT_CONTAINS(opened("images:" + folder.path("val") + "?norm=none&targets=masks:" + folder.path("val")),
                  "a mask must have one number of 8 bits or fewer per pixel");
  EXPECT_CONTAINS(opened("images:" + folder.path("val") + "?norm=none&targets=masks:/nowhere"),
                  "there is no folder '/nowhere'");
}

TEST(Targets, TextGivesALineForEachItem) {
  const TempFolder folder;
  write_npz(folder.path("x.npz"), {{"x", at::ones({2, 3})}});
  const std::string lines = folder.write("lines.txt", "one line\r\nzwei W\xC3\xB6rter\n");
  const auto data = open_dataset("npz:" + folder.path("x.npz") + "?targets=text:" + lines);
  const at::Tensor text = data->get(0).targets.at("text").tensor();
  EXPECT_EQ(std::string(static_cast<const char*>(text.const_data_ptr()), text.nbytes()), "one line");
  EXPECT_EQ(data->get(1).targets.at("text").tensor().numel(), 12);
  EXPECT_CONTAINS(opened("npz:" + folder.path("x.npz") + "?targets=text:" + folder.write("short.txt", "one\n")),
                  "there are 2 items, but 1 targets");
  EXPECT_CONTAINS(opened("npz:" + folder.path("x.npz") + "?targets=text:/nowhere"), "cannot read the texts '/nowhere'");
  // limit= and offset= take the targets along.
  const auto second = open_dataset("npz:" + folder.path("x.npz") + "?offset=1&targets=text:" + lines);
  EXPECT_EQ(second->get(0).targets.at("text").tensor().numel(), 12);
  EXPECT_EQ(second->target_kind(), "text");
}

TEST(Targets, ArraysComeFromAFileOrAFolder) {
  const TempFolder folder;
  write_npz(folder.path("x.npz"), {{"x", at::ones({2, 3})}});
  // What the model reads may be what it should give.
  write_npz(folder.path("both.npz"), {{"x", at::ones({2, 3})}, {"wanted", at::zeros({2, 3})}});
  InputHint hint;
  hint.inputs = {"x"};
  const Sample same = open_dataset("npz:" + folder.path("both.npz") + "?target=x", hint)->get(0);
  EXPECT_EQ(same.inputs.tensor().sum().item<float>(), 3);
  EXPECT_EQ(same.targets.at("x").tensor().sum().item<float>(), 3);
  write_npz(folder.path("y.npz"), {{"wanted", at::tensor({5.0F, 6.0F})}, {"more", at::tensor({1, 2}, at::kLong)}});
  const auto data = open_dataset("npz:" + folder.path("x.npz") + "?targets=arrays:" + folder.path("y.npz"));
  EXPECT_EQ(data->get(1).targets.at("wanted").tensor().item<float>(), 6.0F);
  EXPECT_EQ(data->get(1).targets.at("more").tensor().item<std::int64_t>(), 2);
  std::filesystem::create_directories(folder.path("each"));
  write_npz(folder.path("each/1.npz"), {{"wanted", at::tensor({9.0F})}});
  const auto each = open_dataset("npz:" + folder.path("x.npz") + "?targets=arrays:" + folder.path("each"));
  EXPECT_EQ(each->get(1).targets.at("wanted").tensor().item<float>(), 9.0F);
  EXPECT_CONTAINS(message_of([&] { each->get(0); }), "there is no 0.npz or 0.npy in '" + folder.path("each") + "'");
}

TEST(Targets, NpzHasInputsAndTargetsInOneFile) {
  const TempFolder folder;
  write_npz(folder.path("x.npz"),
            {{"x", at::ones({2, 3})}, {"wanted", at::tensor({5.0F, 6.0F})}, {"y", at::tensor({1, 0}, at::kLong)}});
  const auto data = open_dataset("npz:" + folder.path("x.npz") + "?target=wanted");
  EXPECT_EQ(data->target_kind(), "arrays");
  EXPECT_EQ(data->get(1).targets.at("wanted").tensor().item<float>(), 6.0F);
  EXPECT_EQ(data->get(0).label, 1);
  EXPECT_EQ(data->get(0).inputs.values().size(), 1U);
  EXPECT_CONTAINS(opened("npz:" + folder.path("x.npz") + "?target=wantd"),
                  "there is no array 'wantd' (target=); it holds 'wanted', 'x', 'y'");
  EXPECT_CONTAINS(opened("npz:" + folder.path("x.npz") + "?target=wanted&targets=arrays:" + folder.path("x.npz")),
                  "targets= is given, but the data has targets of its own (target=)");
}

TEST(Targets, AKindMustBeNamedAndKnown) {
  const TempFolder folder;
  write_npz(folder.path("x.npz"), {{"x", at::ones({2, 3})}});
  EXPECT_CONTAINS(opened("npz:" + folder.path("x.npz") + "?targets=y.npz"),
                  "option targets=y.npz is not KIND:PATH, with one of arrays, coco, masks, text");
  EXPECT_CONTAINS(opened("npz:" + folder.path("x.npz") + "?targets=cocco:y.json"),
                  "unknown kind of targets 'cocco'; did you mean 'coco'?");
}

TEST(ItemFile, IsLookedForByTheWholeNameAndByTheLastPart) {
  const TempFolder folder;
  folder.write("city/one.png", "x");
  folder.write("two.npy", "x");
  EXPECT_EQ(item_file(folder.path(), "city/one.jpg", {".png", ".npy"}), folder.path("city/one.png"));
  EXPECT_EQ(item_file(folder.path(), "city/two.jpg", {".png", ".npy"}), folder.path("two.npy"));
}

}  // namespace
}  // namespace quench
