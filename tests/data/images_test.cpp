#include <ATen/ATen.h>

#include "data/files.h"
#include "quench/data.h"
#include "quench/npz.h"

namespace quench {
namespace {

std::string opened(const std::string& spec, const InputHint& hint = {}) {
  return message_of([&] { open_dataset(spec, hint); });
}

std::string picture(const std::string& name) { return contents_of(test_data("images/" + name)); }

at::Tensor expected(const std::string& name) {
  return read_npz(test_data("images/expected.npz")).at(name).tensor().permute({2, 0, 1}).to(at::kFloat).div(255);
}

TEST(Images, TakesSortedFoldersForClasses) {
  const TempFolder folder;
  folder.write("b/2.JPG", picture("rgb.jpg"));
  folder.write("b/deep/1.png", picture("rgb.png"));
  folder.write("b/notes.txt", "no picture");
  folder.write("a/9.jpeg", picture("grey.jpg"));
  folder.write(".hidden/1.png", picture("rgb.png"));
  std::filesystem::create_directories(folder.path("c"));
  const auto data = open_dataset("images:" + folder.path() + "?norm=none");
  ASSERT_EQ(data->size(), 3);
  EXPECT_EQ(data->classes(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(data->task(), Task::kClassify);
  const std::vector<std::pair<std::string, std::int64_t>> wanted = {
      {"a/9.jpeg", 0}, {"b/2.JPG", 1}, {"b/deep/1.png", 1}};
  for (std::int64_t i = 0; i < 3; ++i) {
    const Sample sample = data->get(i);
    EXPECT_EQ(std::pair(sample.name, sample.label), wanted[static_cast<std::size_t>(i)]);
    EXPECT_EQ(sample.inputs.tensor().sizes(), (std::vector<std::int64_t>{3, 37, 53}));
  }
  EXPECT_TRUE(data->get(2).inputs.tensor().equal(expected("rgb.png")));
}

TEST(Images, HasNoLabelsWithoutFolders) {
  const TempFolder folder;
  folder.write("1.png", picture("rgb.png"));
  const auto data = open_dataset(folder.path() + "?norm=imagenet");
  EXPECT_EQ(data->task(), Task::kNone);
  EXPECT_EQ(data->get(0).label, -1);
  EXPECT_EQ(data->get(0).name, "1.png");
}

TEST(Images, TakesLabelsFromAListOfClasses) {
  const TempFolder folder;
  folder.write("data/b/1.png", picture("rgb.png"));
  const std::string spec = "images:" + folder.path("data") + "?norm=none&classes=";
  EXPECT_EQ(open_dataset(spec + folder.write("plain", "x the first\nb\nz\n"))->get(0).label, 1);
  EXPECT_EQ(open_dataset(spec + folder.write("numbered", "0 x\n1 y\n2 b and more\n"))->get(0).label, 2);
  EXPECT_CONTAINS(opened(spec + folder.write("other", "x\ny\n")), "the folder 'b' is not in the list of classes");
  EXPECT_CONTAINS(opened(spec + folder.write("twice", "b\nb\n")), "names 'b' twice");
  EXPECT_CONTAINS(opened(spec + folder.write("empty", "\n")), "is empty");
  EXPECT_CONTAINS(opened(spec + folder.path("none")), "cannot read the list of classes");
}

TEST(Images, ResizesAndCropsAsTorchvisionDoes) {
  const TempFolder folder;
  folder.write("1.png", picture("rgb.png"));
  const std::string spec = "images:" + folder.path() + "?norm=none";
  const auto image = [&](const std::string& options, const InputHint& hint = {}) {
    return open_dataset(spec + options, hint)->get(0).inputs.tensor();
  };
  EXPECT_TRUE(image("&size=28").equal(expected("size_28")));
  EXPECT_TRUE(image("&size=14").equal(expected("size_14")));
  EXPECT_TRUE(image("", {3, 28, 28}).equal(expected("size_28")));
  EXPECT_TRUE(image("&crop=28&resize=32", {3, 28, 28}).equal(expected("size_28")));
  EXPECT_TRUE(image("&crop=21").equal(expected("crop_21")));
  EXPECT_TRUE(image("&resize=16").size(2) == 22);  // 53 * 16 / 37, cut
  EXPECT_TRUE(image("", {3, 37, 53}).equal(expected("rgb.png")));
  EXPECT_TRUE(image("&size=37x53").equal(expected("rgb.png")));
  EXPECT_TRUE(image("&resize=37&crop=37").equal(expected("crop_37")));
  EXPECT_EQ(image("&size=20x10").sizes(), (std::vector<std::int64_t>{3, 20, 10}));
  EXPECT_EQ(image("", {1, 37, 53}).sizes(), (std::vector<std::int64_t>{1, 37, 53}));
}

TEST(Images, RefusesOptionsThatDoNotFit) {
  const TempFolder folder;
  folder.write("1.png", picture("rgb.png"));
  const std::string spec = "images:" + folder.path();
  EXPECT_CONTAINS(opened(spec), "use norm=imagenet");
  EXPECT_CONTAINS(opened(spec + "?norm=none&size=9&crop=9"), "size= and crop= are mutually exclusive");
  EXPECT_CONTAINS(opened(spec + "?norm=none&size=big"), "size=big is not a size from 1 to");
  EXPECT_CONTAINS(opened(spec + "?norm=none&size=12000"), "the limit is");
  EXPECT_CONTAINS(opened(spec + "?norm=none&size=9", {3, 8, 8}), "are ?x9x9, but the model takes 3x8x8");
  EXPECT_CONTAINS(opened(spec + "?norm=none", {4, 8, 8}), "the model takes 4 channels");
  EXPECT_CONTAINS(opened(spec + "?norm=none&sise=9"), "did you mean 'size'?");
}

TEST(Images, RefusesFoldersWithoutPictures) {
  const TempFolder folder;
  EXPECT_CONTAINS(opened("images:" + folder.path("none") + "?norm=none"), "no folder '");
  EXPECT_CONTAINS(opened("images:" + folder.write("file", "x") + "?norm=none"), "is not a folder");
  EXPECT_CONTAINS(opened("images:" + folder.path() + "?norm=none"),
                  "holds no .jpg, .jpeg or .png files; it holds others, such as 'file'");
  folder.write("a/1.png", picture("rgb.png"));
  folder.write("2.png", picture("rgb.png"));
  EXPECT_CONTAINS(opened("images:" + folder.path() + "?norm=none"), "pictures beside them, such as \"2.png\"");
}

TEST(Images, NamesABrokenPictureOrLeavesItOut) {
  const TempFolder folder;
  const std::string whole = picture("rgb.jpg");
  folder.write("a/1.jpg", whole);
  folder.write("a/2.jpg", whole.substr(0, whole.size() / 2));
  folder.write("a/3.jpg", "");
  folder.write("a/4.jpg", "this is text");
  folder.write("a/5.png", whole);  // a wrong ending does no harm
  const auto data = open_dataset("images:" + folder.path() + "?norm=none");
  const std::string broken = message_of([&] { data->get(1); });  // libjpeg's own words stand between
  EXPECT_EQ(broken.rfind("broken JPEG: ", 0), 0U) << broken;
  EXPECT_CONTAINS(broken, "\n  in the picture '" + folder.path());
  EXPECT_CONTAINS(message_of([&] { data->get(2); }), "3.jpg' is empty");
  EXPECT_CONTAINS(message_of([&] { data->get(3); }), "it is not an image of a known format");
  LoadOptions options;
  Loader strict(*data, options);
  EXPECT_CONTAINS(message_of([&] { strict.next(); }), "2.jpg'");
  options.skip_broken = true;
  Loader loader(*data, options);
  EXPECT_EQ(loader.next()->names, (std::vector<std::string>{"a/1.jpg", "a/5.png"}));
  EXPECT_EQ(loader.skipped().size(), 3U);
}

TEST(Images, TakesALinkThatLeadsNowhereForABrokenPicture) {
  const TempFolder folder;
  folder.write("a/1.png", picture("rgb.png"));
  std::filesystem::create_symlink("gone.png", folder.path("a/2.png"));
  std::filesystem::create_symlink("3.png", folder.path("a/3.png"));  // to itself
  std::filesystem::create_symlink("1.png", folder.path("a/4.png"));
  const auto data = open_dataset("images:" + folder.path() + "?norm=none");
  EXPECT_CONTAINS(message_of([&] { data->get(1); }), folder.path("a/2.png") + "' is a link that leads nowhere");
  EXPECT_CONTAINS(message_of([&] { data->get(2); }), folder.path("a/3.png") + "' is a link that leads nowhere");
  LoadOptions options;
  options.skip_broken = true;
  Loader loader(*data, options);
  EXPECT_EQ(loader.next()->names, (std::vector<std::string>{"a/1.png", "a/4.png"}));
  EXPECT_EQ(loader.skipped().size(), 2U);
}

TEST(Images, NamesLinksThatLeadNowhereOrBack) {
  const auto error_with_link = [](const std::string& name, const std::string& target) {
    const TempFolder folder;
    folder.write("a/deep/1.png", picture("rgb.png"));
    std::filesystem::create_symlink(target, folder.path(name));
    const std::string message = opened("images:" + folder.path() + "?norm=none");
    EXPECT_CONTAINS(message, "the link '" + folder.path(name) + "' leads ");
    return message;
  };
  EXPECT_CONTAINS(error_with_link("b", "gone"), "leads nowhere");  // a class would be missing
  EXPECT_CONTAINS(error_with_link("b", "b"), "leads nowhere");
  EXPECT_CONTAINS(error_with_link("a/deep/more", "gone"), "leads nowhere");
  EXPECT_CONTAINS(error_with_link("b", "."), "leads back to a folder that it lies in");
  EXPECT_CONTAINS(error_with_link("a/deep/up", ".."), "leads back to a folder that it lies in");
}

TEST(Images, FollowsLinksToFolders) {
  const TempFolder folder, elsewhere;
  elsewhere.write("1.png", picture("rgb.png"));
  folder.write("a/2.png", picture("rgb.png"));
  std::filesystem::create_directory_symlink(elsewhere.path(), folder.path("b"));
  std::filesystem::create_directory_symlink(elsewhere.path(), folder.path("a/more"));
  EXPECT_EQ(open_dataset("images:" + folder.path() + "?norm=none")->size(), 3);
}

TEST(Images, ReadsTheRealValidationSet) {
  const std::string path = real_data("imagenet/val");
  SKIP_WITHOUT(path);
  const auto data = open_dataset("images:" + path + "?norm=imagenet", {3, 224, 224});
  ASSERT_EQ(data->size(), 2000);
  ASSERT_EQ(data->classes().size(), 1000U);
  EXPECT_EQ(data->classes()[0], "n01440764");
  const Sample first = data->get(0), last = data->get(1999);
  EXPECT_EQ(first.label, 0);
  EXPECT_EQ(last.label, 999);
  EXPECT_EQ(first.inputs.tensor().sizes(), (std::vector<std::int64_t>{3, 224, 224}));
  // Bytes that Pillow gives at row 100, column 50 of the first picture.
  const std::vector<int> pixel = {115, 128, 108};
  const std::vector<float> mean = {0.485F, 0.456F, 0.406F}, std = {0.229F, 0.224F, 0.225F};
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(first.inputs.tensor()[static_cast<std::int64_t>(c)][100][50].item<float>(),
              (static_cast<float>(pixel[c]) / 255.0F - mean[c]) / std[c]);
  }
  const auto listed = open_dataset("images:" + path +
                                   "?norm=imagenet&limit=2&offset=1998&classes=" + real_data("imagenet/classes.txt"));
  EXPECT_EQ(listed->get(1).label, 999);
}

}  // namespace
}  // namespace quench
