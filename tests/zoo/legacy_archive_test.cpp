// Files of torch.save before 1.6, written by hand.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "quench/state_dict.h"
#include "support/expect_error.h"
#include "zoo/torch_bytes.h"

namespace quench {
namespace {

using namespace pickled;

struct Legacy {
  std::string magic = std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.");
  std::string version = whole(integer(1001));
  std::string facts = whole(dict({{"protocol_version", integer(1001)}, {"little_endian", "\x88"}}));
  std::string object, keys;
  std::string storages;

  std::string bytes() const { return magic + version + facts + object + keys + storages; }
};

std::string floats(const std::vector<float>& values) {
  std::string bytes = little(static_cast<std::int64_t>(values.size()));
  for (const float value : values) bytes += little(value);
  return bytes;
}

std::string storage_of(const std::string& type, const std::string& key, std::int64_t elements,
                       const std::string& view = "N") {
  return tuple({text("storage"), global("torch", type), text(key), text("cpu"), long_integer(elements), view}) + "Q";
}

std::string list(const std::vector<std::string>& items) {
  std::string bytes = "](";
  for (const std::string& item : items) bytes += text(item);
  return bytes + "e";
}

// "a" and "b" look into one storage, "c" has bytes of its own.
Legacy sample() {
  Legacy file;
  const std::string shared = storage_of("FloatStorage", "94", 3);
  file.object = whole(dict({{"a", tensor(shared, 0, {3}, {1})},
                            {"b", tensor(shared, 1, {2}, {1})},
                            {"c", tensor(storage_of("ByteStorage", "12", 2), 0, {2}, {1})}}));
  file.keys = whole(list({"12", "94"}));
  file.storages = little(std::int64_t{2}) + "\x05\x06" + floats({1, 2, 3});
  return file;
}

TensorMap read(const Legacy& legacy) {
  const TempFile file(legacy.bytes(), "weights.pth");
  return read_state_dict(file.path());
}

TEST(LegacyArchive, ReadsTensors) {
  const TensorMap tensors = read(sample());
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_TRUE(at::equal(tensors.at("a"), at::tensor({1.0F, 2.0F, 3.0F})));
  EXPECT_TRUE(at::equal(tensors.at("b"), at::tensor({2.0F, 3.0F})));
  EXPECT_TRUE(at::equal(tensors.at("c"), at::tensor({5, 6}).to(at::kByte)));
}

// As torchvision's quantized networks of 2019 are kept.
TEST(LegacyArchive, ReadsQuantizedTensors) {
  Legacy file;
  const std::string grid =
      tuple({global("torch", "per_channel_affine"), tensor(storage_of("DoubleStorage", "7", 2), 0, {2}, {1}),
             tensor(storage_of("LongStorage", "8", 2), 0, {2}, {1}), integer(0)});
  const std::string codes = global("torch._utils", "_rebuild_qtensor") +
                            tuple({storage_of("QInt8Storage", "9", 4), integer(0), sizes({2, 2}), sizes({2, 1}), grid,
                                   "\x89", global("collections", "OrderedDict") + ")R"}) +
                            "R";
  file.object = whole(dict({{"conv.weight", codes},
                            {"conv.scale", tensor(storage_of("FloatStorage", "94", 1), 0, {}, {})},
                            {"conv.zero_point", tensor(storage_of("LongStorage", "95", 1), 0, {}, {})}}));
  file.keys = whole(list({"7", "8", "9", "94", "95"}));
  const auto longs = [](const std::vector<std::int64_t>& values) {
    std::string bytes = little(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values) bytes += little(value);
    return bytes;
  };
  file.storages = little(std::int64_t{2}) + little(0.5) + little(0.25) + longs({0, 0}) + little(std::int64_t{4}) +
                  std::string("\x01\x02\x03\xff") + floats({0.125F}) + longs({3});
  const TempFile written(file.bytes(), "weights.pth");
  const QuantizedState state = read_quantized_state(written.path());
  EXPECT_TRUE(at::equal(state.tensors.at("conv.weight"), at::tensor({1, 2, 3, -1}).to(at::kChar).view({2, 2})));
  EXPECT_EQ(state.grids.at("conv.weight").params, (QParams{{0.5F, 0.25F}, {0, 0}}));
  EXPECT_EQ(state.grids.at("conv.weight").axis, 0);
  EXPECT_EQ(state.outputs.at("conv"), (QParams{{0.125F}, {3}}));
}

TEST(LegacyArchive, EveryTruncationIsAnError) {
  const std::string bytes = sample().bytes();
  for (std::size_t length = 2; length < bytes.size(); ++length) {
    const TempFile file(bytes.substr(0, length));
    EXPECT_ERROR(read_torch_file(file.path()), "while reading the weights in") << length;
  }
}

TEST(LegacyArchive, RefusesWhatItIsNot) {
  Legacy file = sample();
  file.magic = whole(integer(5));
  EXPECT_ERROR(read(file), "it is a bare pickle, not a file of torch.save");
  file = sample();
  file.version = whole(integer(1000));
  EXPECT_ERROR(read(file), "it does not have version 1001");
  file = sample();
  file.facts = whole(dict({{"little_endian", "\x89"}}));
  EXPECT_ERROR(read(file), "only little-endian files are read");
  file = sample();
  file.object = whole(global("os", "system") + tuple({text("true")}) + "R");
  EXPECT_ERROR(read(file), "it refers to 'os.system'");
}

TEST(LegacyArchive, StoragesThatLieAreRefused) {
  Legacy file = sample();
  file.storages = little(std::int64_t{1} << 60) + "\x05\x06";
  EXPECT_ERROR(read(file), "storage '12' claims 1152921504606846976 elements of 1 bytes");
  file.storages = little(std::int64_t{-1});
  EXPECT_ERROR(read(file), "storage '12' claims -1 elements");
  file = sample();
  file.keys = whole(list({"12", "12", "94"}));
  file.storages = little(std::int64_t{0}) + file.storages;
  EXPECT_ERROR(read(file), "storage '12' is there twice");
  file.keys = whole(list({"13"}));
  EXPECT_ERROR(read(file), "storage '13' belongs to no tensor");
  file.keys = whole(dict({}));
  EXPECT_ERROR(read(file), "the keys of its storages are a dict, not a list");
  file.keys = whole(list({"12"}));
  file.storages = little(std::int64_t{2}) + "\x05\x06";
  EXPECT_ERROR(read(file), "the file has no storage '94'");
  file = sample();
  file.object = whole(dict({{"a", tensor(storage_of("FloatStorage", "94", 3, tuple({})), 0, {3}, {1})}}));
  EXPECT_ERROR(read(file), "None was expected, a tuple found");
}

}  // namespace
}  // namespace quench
