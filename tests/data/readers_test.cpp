// cifar10, idx, tokens and npz as data sets: tiny files, broken files, and the real ones.
#include <ATen/ATen.h>
#include <zlib.h>

#include "data/files.h"
#include "quench/data.h"
#include "quench/npz.h"

namespace quench {
namespace {

std::string opened(const std::string& spec, const InputHint& hint = {}) {
  return message_of([&] { open_dataset(spec, hint); });
}

float torchvision(int value, double mean, double std) {
  return ((at::full({1}, value, at::kByte).to(at::kFloat).div(255) - static_cast<float>(mean)) /
          static_cast<float>(std))
      .item<float>();
}

std::string gzip(const std::string& path, const std::string& bytes) {
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  return path;
}

TEST(Normalize, EqualsToTensorAndNormalizeBitForBit) {
  std::string record(3073, '\0');
  for (std::size_t i = 1; i < record.size(); ++i) record[i] = static_cast<char>(i * 7);
  const TempFolder folder;
  const auto data = open_dataset("cifar10:" + folder.write("a.bin", record) + "?norm=imagenet");
  const at::Tensor image = data->get(0).inputs.tensor();
  const double mean[] = {0.485, 0.456, 0.406}, std[] = {0.229, 0.224, 0.225};
  for (int channel = 0; channel < 3; ++channel) {
    for (int i = 0; i < 256; ++i) {
      const int value = static_cast<unsigned char>(record[static_cast<std::size_t>(1 + channel * 1024 + i)]);
      ASSERT_EQ(image[channel].flatten()[i].item<float>(), torchvision(value, mean[channel], std[channel]));
    }
  }
}

TEST(Normalize, AsksForTheNormAndNamesTheUsualOnes) {
  const TempFolder folder;
  const std::string spec = "cifar10:" + folder.write("a.bin", std::string(3073, '\1'));
  EXPECT_CONTAINS(opened(spec), "use norm=imagenet, norm=cifar10, norm=mnist, norm=half");
  EXPECT_CONTAINS(opened(spec + "?norm=imagnet"), "unknown norm 'imagnet'; did you mean 'imagenet'?");
  EXPECT_CONTAINS(opened(spec + "?norm=mnist&mean=1"), "mutually exclusive");
  EXPECT_CONTAINS(opened(spec + "?mean=1"), "std= is missing");
  EXPECT_CONTAINS(opened(spec + "?mean=1,2&std=1,1"), "has 2 values of mean, but images are read with 3 channels");
  EXPECT_CONTAINS(opened(spec + "?mean=0&std=0"), "std=0 is not above 0");
  const auto data = open_dataset(spec + "?mean=0.5,0.5,0&std=0.5");
  EXPECT_EQ(data->get(0).inputs.tensor()[2][0][0].item<float>(), torchvision(1, 0, 0.5));
  EXPECT_EQ(open_dataset(spec + "?norm=none")->get(0).inputs.tensor()[0][0][0].item<float>(), 1.0F / 255.0F);
}

// What labels() says without reading an item is what the items say, in every kind and part of one.
TEST(Labels, AreKnownWithoutReadingItems) {
  const TempFolder folder;
  std::string records;
  for (const char label : {4, 0, 9}) records += label + std::string(3072, '\1');
  const std::string cifar = "cifar10:" + folder.write("a.bin", records) + "?norm=none";
  write_npz(folder.path("x.npz"), {{"x", at::ones({3, 2})}, {"y", at::tensor({7, 5, 6}, at::kLong)}});
  write_npz(folder.path("none.npz"), {{"x", at::ones({3, 2})}});
  for (const char* name : {"b/one.png", "a/two.png", "b/three.png"})
    folder.write(std::string("pictures/") + name, contents_of(test_data("images/rgb.png")));
  const std::string pictures = "images:" + folder.path("pictures") + "?norm=none";
  for (const std::string& spec :
       {cifar, cifar + "&offset=1", cifar + "&limit=2", "npz:" + folder.path("x.npz"), pictures}) {
    const auto data = open_dataset(spec);
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < data->size(); ++i) labels.push_back(data->get(i).label);
    EXPECT_EQ(data->labels(), labels) << spec;
  }
  EXPECT_TRUE(open_dataset("npz:" + folder.path("none.npz"))->labels().empty());
  EXPECT_TRUE(open_dataset("images:" + folder.path("pictures/b") + "?norm=none")->labels().empty());
}

TEST(Cifar10, AFolderIsItsTrainingFilesInOrder) {
  const TempFolder folder;
  folder.write("data_batch_2.bin", std::string(3073, '\x02'));
  folder.write("data_batch_1.bin", std::string(2 * 3073, '\x01'));
  folder.write("test_batch.bin", std::string(3073, '\x03'));
  const auto set = open_dataset("cifar10:" + folder.path() + "?norm=none");
  ASSERT_EQ(set->size(), 3);
  EXPECT_EQ(set->get(0).label, 1);
  EXPECT_EQ(set->get(2).label, 2);
}

TEST(Cifar10, RefusesBrokenFiles) {
  const TempFolder folder;
  const std::string tail = "?norm=none";
  EXPECT_CONTAINS(opened("cifar10:" + folder.path("none") + tail), "no file '");
  EXPECT_CONTAINS(opened("cifar10:" + folder.path() + tail), "holds no data_batch_*.bin");
  EXPECT_CONTAINS(opened("cifar10:" + folder.write("e", "") + tail), "is empty");
  EXPECT_CONTAINS(opened("cifar10:" + folder.write("t", std::string(4000, '\0')) + tail),
                  "has 4000 bytes, which is not a multiple of a CIFAR-10 record's 3073");
  const std::string good = folder.write("g", std::string(3073, '\x0b'));
  EXPECT_CONTAINS(opened("cifar10:" + good + tail, {3, 224, 224}), "are 3x32x32, but the model takes 3x224x224");
  EXPECT_CONTAINS(message_of([&] { open_dataset("cifar10:" + good + tail)->get(0); }), "label 11 is not one of");
}

TEST(Cifar10, ReadsTheRealTestSet) {
  const std::string path = real_data("cifar10/test_batch.bin");
  SKIP_WITHOUT(path);
  const auto data = open_dataset("cifar10:" + path + "?norm=imagenet", {3, 32, 32});
  ASSERT_EQ(data->size(), 10000);
  std::vector<int> counts(10);
  for (std::int64_t i = 0; i < data->size(); ++i) ++counts[static_cast<std::size_t>(data->get(i).label)];
  EXPECT_EQ(counts, std::vector<int>(10, 1000));
  const Sample first = data->get(0);  // a cat; its first red, green and blue byte
  EXPECT_EQ(data->classes()[static_cast<std::size_t>(first.label)], "cat");
  EXPECT_EQ(first.inputs.tensor()[0][0][0].item<float>(), torchvision(158, 0.485, 0.229));
  EXPECT_EQ(first.inputs.tensor()[1][0][0].item<float>(), torchvision(112, 0.456, 0.224));
  EXPECT_EQ(first.inputs.tensor()[2][0][0].item<float>(), torchvision(49, 0.406, 0.225));
}

const std::string kImages("\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\2\x0a\x14\x1e\x28", 20);
const std::string kLabels("\0\0\x08\1\0\0\0\2\7\3", 10);

TEST(Idx, ReadsPlainAndGzippedFiles) {
  const TempFolder folder;
  const std::string labels = folder.write("l", kLabels);
  for (const std::string& path : {folder.write("i", kImages), gzip(folder.path("i.gz"), kImages)}) {
    const auto data = open_dataset("idx:" + path + "?labels=" + labels + "&norm=none", {1, 1, 2});
    ASSERT_EQ(data->size(), 2);
    EXPECT_EQ(data->get(1).label, 3);
    EXPECT_EQ(data->get(1).inputs.tensor().sizes(), (std::vector<std::int64_t>{1, 1, 2}));
    EXPECT_EQ(data->get(1).inputs.tensor()[0][0][1].item<float>(), 40.0F / 255.0F);
    EXPECT_EQ(data->task(), Task::kClassify);
    EXPECT_EQ(open_dataset("idx:" + path + "?norm=none")->task(), Task::kNone);
  }
}

TEST(Idx, RefusesBrokenFiles) {
  const TempFolder folder;
  const auto open_bytes = [&](const std::string& bytes) {
    return opened("idx:" + folder.write("i", bytes) + "?norm=mnist");
  };
  EXPECT_CONTAINS(open_bytes(""), "is truncated: 4 bytes were expected, 0 are there");
  EXPECT_CONTAINS(open_bytes("hello, this is text"), "is not an IDX file");
  EXPECT_CONTAINS(open_bytes(kLabels), "has 1 dimensions; IDX images have 3");
  EXPECT_CONTAINS(open_bytes(std::string("\0\0\x0d\3", 4) + kImages.substr(4)), "elements of type 13; only unsigned");
  EXPECT_CONTAINS(open_bytes(kImages.substr(0, 18)), "is truncated: 4 bytes were expected, 2 are there");
  EXPECT_CONTAINS(open_bytes(kImages + "x"), "holds more bytes than its header says");
  EXPECT_CONTAINS(open_bytes(std::string("\0\0\x08\3", 4) + std::string(12, '\xff') + "x"), "claims more than");
  const std::string packed = contents_of(gzip(folder.path("i.gz"), std::string(5000, 'x')));
  EXPECT_CONTAINS(open_bytes(packed.substr(0, packed.size() - 9)), "its gzip data ends early");
  const std::string whole = contents_of(gzip(folder.path("i.gz"), kImages));
  std::string damaged = whole;
  damaged[whole.size() - 6] = static_cast<char>(damaged[whole.size() - 6] ^ 1);  // in the checksum
  EXPECT_CONTAINS(open_bytes(damaged), "is not a valid gzip file");
  const std::string three = folder.write("l", std::string("\0\0\x08\1\0\0\0\3\7\3\1", 11));
  EXPECT_CONTAINS(opened("idx:" + folder.write("i", kImages) + "?norm=mnist&labels=" + three), "has 3 labels");
}

TEST(Idx, ReadsTheRealTestSet) {
  const std::string folder = real_data("mnist");
  SKIP_WITHOUT(folder);
  const auto data = open_dataset("idx:" + folder + "/mnist-t10k-images-idx3-ubyte.gz?labels=" + folder +
                                     "/mnist-t10k-labels-idx1-ubyte.gz&norm=mnist",
                                 {1, 28, 28});
  ASSERT_EQ(data->size(), 10000);
  std::vector<int> counts(10);
  for (std::int64_t i = 0; i < data->size(); ++i) ++counts[static_cast<std::size_t>(data->get(i).label)];
  EXPECT_EQ(counts, (std::vector<int>{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}));
  EXPECT_EQ(data->get(0).label, 7);
  EXPECT_EQ(data->get(0).inputs.tensor()[0][0][0].item<float>(), torchvision(0, 0.1307, 0.3081));
}

std::string tokens(const std::vector<int>& ids) {
  std::string bytes;
  for (const int id : ids) bytes += {static_cast<char>(id & 0xFF), static_cast<char>(id >> 8)};
  return bytes;
}

TEST(Tokens, CutsAndPadsTextsThatBeginWithBos) {
  const TempFolder folder;
  const std::string path = folder.write("t", tokens({1, 300, 5, 6, 7, 1, 9}));
  const auto data = open_dataset("tokens:" + path + "?bos=1&len=4&pad=2");
  ASSERT_EQ(data->size(), 2);
  EXPECT_TRUE(data->get(0).inputs.tensor().equal(at::tensor({1, 300, 5, 6}, at::kLong)));
  EXPECT_TRUE(data->get(1).inputs.tensor().equal(at::tensor({1, 9, 2, 2}, at::kLong)));
  EXPECT_EQ(data->get(0).length, 4);
  EXPECT_EQ(data->get(1).length, 2);
  EXPECT_EQ(data->pad_token(), 2);
}

TEST(Tokens, CutsOneTextIntoPiecesOfTheModelsLength) {
  const TempFolder folder;
  const std::string spec = "tokens:" + folder.write("t", tokens({1, 2, 3, 4, 5}));
  const auto data = open_dataset(spec, {-1, -1, -1, 2});
  ASSERT_EQ(data->size(), 3);
  EXPECT_TRUE(data->get(2).inputs.tensor().equal(at::tensor({5, 0}, at::kLong)));
  EXPECT_EQ(data->get(2).length, 1);
}

TEST(Tokens, RefusesBrokenFilesAndOptions) {
  const TempFolder folder;
  const std::string spec = "tokens:" + folder.write("t", tokens({3, 1, 2}));
  EXPECT_CONTAINS(opened("tokens:" + folder.write("odd", "abc") + "?len=4"), "has an odd number of bytes (3)");
  EXPECT_CONTAINS(opened("tokens:" + folder.write("e", "") + "?len=4"), "is empty");
  EXPECT_CONTAINS(opened(spec), "give len=N");
  EXPECT_CONTAINS(opened(spec + "?len=4", {-1, -1, -1, 8}), "len=4, but the model takes 8 tokens");
  EXPECT_CONTAINS(opened(spec + "?len=4&bos=1"), "does not begin with token bos=1 but with 3");
  EXPECT_CONTAINS(opened(spec + "?len=4&pad=70000"), "pad=70000 is not a 16-bit token id");
}

TEST(Tokens, ScoresAsManyTokensOfTheStoriesAsTheReference) {
  const std::string path = real_data("text/tinystories_tok512.u16");
  SKIP_WITHOUT(path);
  const auto data = open_dataset("tokens:" + path + "?bos=1&len=256&pad=0");
  EXPECT_EQ(data->size(), 159);
  std::int64_t scored = 0, unpadded_targets = 0;
  for (std::int64_t i = 0; i < data->size(); ++i) {
    const Sample sample = data->get(i);
    scored += sample.length - 1;
    unpadded_targets += sample.inputs.tensor().slice(0, 1).ne(data->pad_token()).sum().item<std::int64_t>();
  }
  EXPECT_EQ(scored, 39073);
  EXPECT_EQ(unpadded_targets, 39073);
}

TEST(NpzData, TakesItemsAlongTheFirstDimension) {
  const TempFolder folder;
  const std::string path = folder.path("a.npz");
  write_npz(path, {{"x", at::arange(6, at::kFloat).view({3, 2})}, {"y", at::tensor({4, 5, 6}, at::kInt)}});
  const auto data = open_dataset("npz:" + path);
  ASSERT_EQ(data->size(), 3);
  EXPECT_TRUE(data->get(1).inputs.tensor().equal(at::tensor({2.0F, 3.0F})));
  EXPECT_EQ(data->get(2).label, 6);
  EXPECT_EQ(data->task(), Task::kClassify);
  EXPECT_EQ(open_dataset("npz:" + path + "?input=y&labels=y")->get(0).label, 4);
}

TEST(NpzData, SaysWhichArraysItFound) {
  const TempFolder folder;
  const std::string spec = "npz:" + folder.path("a.npz");
  write_npz(folder.path("a.npz"), {{"a", at::ones({2, 1, 2, 2})}, {"b", at::ones({3}, at::kLong)}});
  EXPECT_CONTAINS(opened(spec),
                  "the arrays hold different numbers of items (their first axis): 'a' 2, 'b' 3; name one that is "
                  "the same for all items with shared=b");
  EXPECT_CONTAINS(opened(spec + "?input=c"), "there is no array 'c' (input=)");
  EXPECT_CONTAINS(opened(spec + "?input=a&labels=b"), "there are 2 items, but 3 labels");
  EXPECT_CONTAINS(opened(spec + "?input=b&labels=a"), "the labels are float, not integers");
  EXPECT_CONTAINS(opened(spec + "?input=a", {3, 2, 2}), "its items are 1x2x2, but the model takes 3x2x2");
}

}  // namespace
}  // namespace quench
