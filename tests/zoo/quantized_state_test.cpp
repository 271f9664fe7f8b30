// State dicts of converted networks: codes, scales and packed parameters, as LibTorch writes them and as modules do.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <bit>

#include "quench/state_dict.h"
#include "support/expect_error.h"
#include "zoo/torch_bytes.h"

namespace quench {
namespace {

using namespace pickled;

std::string real(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  std::string bytes = "G";
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(bits >> shift & 0xFF);
  return bytes;
}

// Storages: "0" four codes 1, 2, 3, 255 (or -1); "1" two floats 0.5, 0.25; "2" two longs 3, 4.
std::string torch_file(const std::string& pickle) {
  return zip_bytes({{"a/data.pkl", pickle},
                    {"a/data/0", std::string("\x01\x02\x03\xff")},
                    {"a/data/1", little(0.5F) + little(0.25F)},
                    {"a/data/2", little(std::int64_t{3}) + little(std::int64_t{4})}});
}

std::string floats(std::int64_t offset, std::int64_t count) {
  return tensor(storage("FloatStorage", "1", 2), offset, {count}, {1});
}
std::string longs(std::int64_t offset, std::int64_t count) {
  return tensor(storage("LongStorage", "2", 2), offset, {count}, {1});
}
std::string per_tensor(double scale, int zero_point) {
  return tuple({global("torch", "per_tensor_affine"), real(scale), integer(zero_point)});
}
std::string per_channel(int axis) {
  return tuple({global("torch", "per_channel_affine"), floats(0, 2), longs(0, 2), integer(axis)});
}
std::string codes(const std::string& grid, const std::string& type = "QInt8Storage") {
  return global("torch._utils", "_rebuild_qtensor") +
         tuple({storage(type, "0", 4), integer(0), sizes({2, 2}), sizes({2, 1}), grid, "\x89",
                global("collections", "OrderedDict") + ")R"}) +
         "R";
}

QuantizedState state_in(const std::vector<std::pair<std::string, std::string>>& entries) {
  const TempFile file(torch_file(whole(dict(entries))));
  return read_quantized_state(file.path());
}

TEST(QuantizedState, ReadsAConvolutionAndItsScale) {
  const QuantizedState state = state_in({{"conv.weight", codes(per_tensor(0.5, 0))},
                                         {"conv.bias", floats(0, 2)},
                                         {"conv.scale", floats(1, 1)},
                                         {"conv.zero_point", longs(1, 1)}});
  EXPECT_EQ(state.tensors.size(), 2U);
  EXPECT_TRUE(at::equal(state.tensors.at("conv.weight"), at::tensor({1, 2, 3, -1}).to(at::kChar).view({2, 2})));
  EXPECT_EQ(state.grids.at("conv.weight").params, (QParams{{0.5F}, {0}}));
  EXPECT_EQ(state.grids.at("conv.weight").axis, -1);
  EXPECT_TRUE(at::equal(state.tensors.at("conv.bias"), at::tensor({0.5F, 0.25F})));
  EXPECT_EQ(state.outputs.at("conv"), (QParams{{0.25F}, {4}}));
  EXPECT_TRUE(at::equal(state.dequantized("conv.weight"), at::tensor({0.5F, 1.0F, 1.5F, -0.5F}).view({2, 2})));
}

TEST(QuantizedState, ReadsScalesPerChannelAndUnsignedCodes) {
  const QuantizedState state = state_in({{"w", codes(per_channel(1), "QUInt8Storage")}});
  EXPECT_EQ(state.tensors.at("w").scalar_type(), at::kByte);
  EXPECT_EQ(state.grids.at("w").params, (QParams{{0.5F, 0.25F}, {3, 4}}));
  // (1 - 3) * 0.5, (2 - 4) * 0.25, (3 - 3) * 0.5, (255 - 4) * 0.25
  EXPECT_TRUE(at::equal(state.dequantized("w"), at::tensor({-1.0F, -0.5F, 0.0F, 62.75F}).view({2, 2})));
}

// Three generations of quantized linear layers: a tuple, two entries below "_packed_params", two entries.
TEST(QuantizedState, ReadsLinearLayersOfEveryVersion) {
  const std::string weight = codes(per_tensor(0.5, 0));
  const std::vector<std::vector<std::pair<std::string, std::string>>> versions = {
      {{"fc._packed_params.dtype", global("torch", "qint8")},
       {"fc._packed_params._packed_params", tuple({weight, floats(0, 2)})}},
      {{"fc._packed_params.dtype", global("torch", "qint8")},
       {"fc._packed_params.weight", weight},
       {"fc._packed_params.bias", floats(0, 2)}},
      {{"fc.weight", weight}, {"fc.bias", floats(0, 2)}}};
  for (const auto& entries : versions) {
    const QuantizedState state = state_in(entries);
    EXPECT_EQ(state.tensors.size(), 2U) << entries[0].first;
    EXPECT_EQ(state.grids.at("fc.weight").params, (QParams{{0.5F}, {0}}));
    EXPECT_EQ(state.tensors.at("fc.bias").numel(), 2);
  }
}

TEST(QuantizedState, ALayerMayHaveNoBias) {
  const QuantizedState state =
      state_in({{"fc._packed_params._packed_params", tuple({codes(per_tensor(0.5, 0)), "N"})}, {"c.bias", "N"}});
  EXPECT_EQ(state.tensors.size(), 1U);
}

TEST(QuantizedState, ReadsWhatLibTorchWrites) {
  at::manual_seed(0);
  const at::Tensor x = at::randn({3, 4, 2});
  const at::Tensor scales = at::tensor({0.01, 0.02, 0.03, 0.04}, at::kDouble),
                   zeros = at::tensor({0, 1, -2, 3}).to(at::kLong);
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("tensor", at::quantize_per_tensor(x, 0.0317, 7, at::kQUInt8));
  dict.insert("channel", at::quantize_per_channel(x, scales, zeros, 1, at::kQInt8));
  dict.insert("wide", at::quantize_per_tensor(x, 0.001, 0, at::kQInt32).transpose(0, 1));
  const std::vector<char> bytes = torch::jit::pickle_save(dict);
  const TempFile file(std::string(bytes.begin(), bytes.end()));
  const QuantizedState state = read_quantized_state(file.path());
  for (const auto& item : dict) {
    EXPECT_TRUE(at::equal(state.tensors.at(item.key()), item.value().int_repr())) << item.key();
    EXPECT_TRUE(at::allclose(state.dequantized(item.key()), item.value().dequantize(), 1e-6, 0)) << item.key();
  }
  EXPECT_EQ(state.grids.at("tensor").params, (QParams{{0.0317F}, {7}}));
  EXPECT_EQ(state.grids.at("channel").axis, 1);
}

TEST(QuantizedState, ErrorsNameTheEntry) {
  const auto expect = [](const std::string& name, const std::string& value, const std::string& part) {
    EXPECT_ERROR(state_in({{name, value}}), part, "in entry '" + name + "'", "while reading the weights in");
  };
  expect("w", codes(per_tensor(0.0, 0)), "its scale is 0");
  expect("w", codes(tuple({global("torch", "per_tensor_affine"), integer(1)})), "neither per_tensor_affine nor");
  expect("w", codes(tuple({})), "neither per_tensor_affine nor");
  expect("w", codes(per_channel(2)), "it has 2 scales along axis 2 of shape [2, 2]");
  expect("w", codes(per_tensor(1, 0), "FloatStorage"), "storage '0' claims 4 elements");
  expect("epoch", integer(3), "it is an integer, not a tensor");
  expect("fc._packed_params", tuple({integer(1)}), "it has 1 parts; a weight and a bias were expected");
}

TEST(QuantizedState, TheTwoReadersPointToEachOther) {
  EXPECT_ERROR(state_in({{"w", floats(0, 2)}}), "it has no quantized tensor: read_state_dict reads such files");
  const TempFile file(torch_file(whole(dict({{"w", codes(per_tensor(1, 0))}}))));
  EXPECT_ERROR(read_state_dict(file.path()), "entry 'w' is a quantized tensor", "load_quantized_state");
  EXPECT_ERROR(QuantizedState().dequantized("w"), "the state dict has no quantized tensor 'w'");
}

}  // namespace
}  // namespace quench
