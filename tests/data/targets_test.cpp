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
  "categories": [{"id": 1, "name": "person"}, {"id": 18, "name": "dog"}, {"id": 90, "name": "toothbrush"}]})";

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
  EXPECT_CONTAINS(error("{"), "is not JSON: it cannot be read from byte 2 on");
  EXPECT_EQ(error("{").find("json.exception"), std::string::npos);
  EXPECT_CONTAINS(error("[]"), "the file has no list 'images'; COCO's instances JSON was expected");
  EXPECT_CONTAINS(error(R"({"images": [{"id": 1}], "annotations": []})"),
                  "it has no 'file_name': {\"id\":1}\n  in image 1");
  EXPECT_CONTAINS(error(R"({"images": [{"id": 1, "file_name": 5}], "annotations": []})"),
                  "'file_name' is 5, not a text");
  EXPECT_CONTAINS(error(R"({"images": [7], "annotations": []})"), "it has no 'id': 7\n  in image number 1 of the list");
  EXPECT_CONTAINS(error(R"({"images": [{"id": 1, "file_name": "a"}, {"id": 2, "file_name": "a"}], "annotations": []})"),
                  "the image 'a' is listed twice");
}

// Of one annotation, with the id 12, of a picture that is there.
TEST(Targets, CocoNamesTheAnnotationThatDoesNotFit) {
  const TempFolder folder;
  folder.write("val/a.png", picture("rgb.png"));
  const auto error = [&](const std::string& annotation) {
    const std::string json =
        R"({"images": [{"id": 1, "file_name": "a.png"}], "categories": [{"id": 3}], "annotations": [)" + annotation +
        "]}";
    return opened("images:" + folder.path("val") + "?norm=none&targets=coco:" + folder.write("i.json", json));
  };
  const auto with = [&](const std::string& bbox, const std::string& category) {
    return error(R"({"id": 12, "image_id": 1, "bbox": )" + bbox + R"(, "category_id": )" + category + "}");
  };
  EXPECT_EQ(with("[0, 0, 1, 1]", "3"), "(no error)");
  EXPECT_CONTAINS(with("[0, 0, 1, 1]", "4"),
                  "'category_id' is 4, which is not an id in 'categories'\n  in annotation 12");
  EXPECT_CONTAINS(with("[0, 0, 1, 1]", "3.5"), "'category_id' is 3.5, not a whole number\n  in annotation 12");
  for (const char* bbox : {"[5, 5, 0, 3]", "[5, 5, 3, 0]"}) EXPECT_EQ(with(bbox, "3"), "(no error)");  // COCO has such
  for (const char* bbox : {"[5, 5, 3, -1]", "[5, 5, -2, 3]"})
    EXPECT_CONTAINS(with(bbox, "3"), "must not be negative\n  in annotation 12\n  in '" + folder.path("i.json") + "'");
  EXPECT_CONTAINS(with("[1]", "3"), "'bbox' is [1], not [x, y, width, height]\n  in annotation 12");
  EXPECT_CONTAINS(with(R"(["a", 1, 2, 3])", "3"), "not [x, y, width, height]\n  in annotation 12");
  EXPECT_CONTAINS(error(R"({"id": 9, "image_id": 3})"),
                  "'image_id' is 3, which is not an id in 'images'\n  in annotation 9");
  EXPECT_CONTAINS(error(R"({"image_id": 1, "bbox": [0, 0, 1, 1]})"), "it has no 'category_id'");
  EXPECT_CONTAINS(error(R"({"image_id": 1, "bbox": [0, 0, 1, 1]})"),
                  "in annotation number 1 of the list, which has no 'id'");
  EXPECT_CONTAINS(error(R"({"id": 9, "image_id": 1, "bbox": [0, 0, 1, 1], "area": "x", "category_id": 3})"),
                  "'area' is \"x\", not a number of pixels");
}

TEST(Targets, CocoIsOfPicturesOfTheirSize) {
  const TempFolder folder;
  folder.write("val/a.png", picture("rgb.png"));
  const std::string json = folder.write(
      "i.json", R"({"images": [{"id": 1, "file_name": "a.png", "width": 640, "height": 480}], "annotations": []})");
  EXPECT_CONTAINS(opened("images:" + folder.path("val") + "?norm=none&size=8&targets=coco:" + json),
                  "the picture is 53 x 37 pixels, but '" + json + "' says 640 x 480: its boxes are of another picture");
}

at::Tensor numbered_mask() { return at::arange(37 * 53, at::kLong).view({37, 53}); }

// A matrix as NumPy writes it.
std::string npy_of(const at::Tensor& matrix) {
  const std::string header =
      concat("{'descr': '", matrix.is_floating_point() ? "<f4" : "<i8", "', 'fortran_order': False, 'shape': (",
             matrix.size(0), ", ", matrix.size(1), "), }");
  std::string npy = std::string("\x93NUMPY\x01\x00", 8);
  const std::string padded = header + std::string(117 - header.size(), ' ') + "\n";
  npy += static_cast<char>(padded.size());
  npy += '\0';
  npy += padded;
  npy.append(static_cast<const char*>(matrix.const_data_ptr()), matrix.nbytes());
  return npy;
}

TEST(Targets, MasksFollowTheirPictures) {
  const TempFolder folder;
  folder.write("val/a.png", picture("rgb.png"));
  std::filesystem::create_directories(folder.path("masks"));
  write_npz(folder.path("one.npz"), {{"array", numbered_mask()}});
  const at::Tensor mask = numbered_mask();
  folder.write("masks/a.npy", npy_of(mask));
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
  folder.write("val/b.png", picture("grey.png"));
  folder.write("masks/b.npy", npy_of(at::zeros({4, 5})));
  const auto second = [&](const std::string& more) { return message_of([&] { open_dataset(data + more)->get(1); }); };
  EXPECT_CONTAINS(second(""), "b.npy' holds float, not integers: its numbers must be classes");
  folder.write("masks/b.npy", npy_of(at::zeros({4, 5}, at::kLong)));
  for (const char* more : {"", "&size=16"})
    EXPECT_CONTAINS(second(more), "b.npy' is 5 x 4 pixels, but its picture is ");
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
  const std::string latin = folder.write("latin.txt", "one\nzwei W\xF6rter\n");
  EXPECT_CONTAINS(opened("npz:" + folder.path("x.npz") + "?targets=text:" + latin),
                  "line 2 of '" + latin + "' is not UTF-8 (byte 7 of the line): convert the file (iconv -t UTF-8)");
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
