// Integer layers in the engine against their plain definition, code by code, for every rule of requantization.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/simd/byte_loops.h"
#include "quant/integer_cases.h"
#include "quant/requantize.h"
#include "quench/engine.h"
#include "support/one_layer.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;

struct Geometry {
  const char* name;
  Ints x, w, pads, strides;
  std::int64_t group = 1;
  Ints dilations = {};
};

const std::vector<Geometry>& geometries() {
  static const std::vector<Geometry> all = {
      {"1x1", {3, 24, 9, 7}, {40, 24, 1, 1}, {0, 0, 0, 0}, {1, 1}},
      {"3x3", {2, 16, 11, 10}, {32, 16, 3, 3}, {1, 1, 1, 1}, {1, 1}},
      {"uneven pads and strides", {2, 5, 11, 10}, {7, 5, 3, 2}, {1, 0, 2, 1}, {2, 3}},
      {"dilated", {1, 8, 13, 12}, {8, 8, 3, 3}, {2, 2, 2, 2}, {1, 1}, 1, {2, 2}},
      {"3x3 of three channels", {2, 3, 17, 14}, {32, 3, 3, 3}, {1, 1, 1, 1}, {2, 2}},
      {"rows dilated", {1, 8, 13, 12}, {40, 8, 3, 3}, {2, 1, 2, 1}, {1, 1}, 1, {2, 1}},
      {"1x1 in strides", {2, 20, 9, 8}, {72, 20, 1, 1}, {0, 0, 0, 0}, {2, 2}},
      {"first layer", {2, 3, 33, 31}, {16, 3, 7, 7}, {3, 3, 3, 3}, {2, 2}},
      {"groups", {2, 12, 8, 8}, {18, 4, 3, 3}, {1, 1, 1, 1}, {1, 1}, 3},
      {"depthwise", {2, 80, 9, 12}, {80, 1, 3, 3}, {1, 1, 1, 1}, {1, 1}, 80},
      {"depthwise in strides of 2", {2, 32, 9, 12}, {32, 1, 3, 3}, {1, 1, 1, 1}, {2, 2}, 32},
      {"depthwise, 32 channels", {2, 32, 7, 11}, {32, 1, 3, 3}, {1, 1, 1, 1}, {1, 1}, 32},
      {"depthwise, 96 channels", {1, 96, 8, 10}, {96, 1, 3, 3}, {1, 1, 1, 1}, {2, 2}, 96},
      {"depthwise, 144 channels and no pads", {1, 144, 6, 7}, {144, 1, 3, 3}, {0, 0, 0, 0}, {1, 1}, 144},
      {"depthwise, one pixel", {2, 5, 3, 3}, {5, 1, 3, 3}, {0, 0, 0, 0}, {2, 2}, 5},
      {"depthwise with uneven pads", {1, 200, 6, 5}, {200, 1, 3, 3}, {0, 1, 2, 0}, {2, 2}, 200},
      {"depthwise 5x5", {1, 24, 9, 9}, {24, 1, 5, 5}, {2, 2, 2, 2}, {1, 1}, 24},
      {"depthwise, doubled", {1, 8, 9, 9}, {16, 1, 3, 3}, {1, 1, 1, 1}, {1, 1}, 8},
      {"sums beyond 24 bits", {1, 600, 5, 5}, {8, 600, 3, 3}, {1, 1, 1, 1}, {1, 1}},
      {"one dimension", {2, 6, 20}, {10, 6, 3}, {1, 1}, {1}},
      {"three dimensions", {1, 4, 5, 6, 7}, {6, 4, 3, 3, 3}, {1, 1, 1, 1, 1, 1}, {1, 1, 1}}};
  return all;
}

// A multiplier that spreads the sums over the codes.
float weight_scale(const Geometry& g) {
  double products = 1;
  for (std::size_t d = 1; d < g.w.size(); ++d) products *= static_cast<double>(g.w[d]);
  return static_cast<float>(0.3 / (40.0 * 74.0 * 0.02 * std::sqrt(products)) * 60.0 / 40.0);
}

struct ConvCase {
  const Geometry& geometry;
  std::string x, w, y, rule;
  std::int32_t x_zero, w_zero, y_zero;
  bool relu;
};

std::unique_ptr<OneLayer> conv_layer(const ConvCase& c) {
  auto layer = std::make_unique<OneLayer>();
  const Geometry& g = c.geometry;
  const QType x = type_of(c.x.c_str(), 0.02F, c.x_zero), y = type_of(c.y.c_str(), 0.3F, c.y_zero);
  QType w = type_of(c.w.c_str(), weight_scale(g), c.w_zero);
  if (!w.scheme.per_tensor()) w = channel_type(c.w.c_str(), g.w[0], weight_scale(g));
  layer->operand(random_codes(g.x, x.scheme), x);
  layer->operand(random_codes(g.w, w.scheme), w, true);
  layer->params(y);
  layer->inputs.push_back(&layer->constant(at::randint(-5000, 5000, {g.w[0]}, at::kInt)));
  std::map<std::string, Attr> attrs = {
      {"group", g.group}, {"strides", g.strides}, {"pads", g.pads}, {"requantize", c.rule}};
  if (!g.dilations.empty()) attrs["dilations"] = g.dilations;
  if (c.relu) attrs["clip_min"] = 0.0;
  if (c.rule == "half_up") attrs["multiplier_bits"] = std::int64_t{15};
  layer->node("quench.QConv", attrs);
  return layer;
}

void expect_equal_codes(OneLayer& layer, const std::string& what) {
  const at::Tensor expected = layer.run();
  Engine engine(layer.graph);
  const RtValue found = engine.run(layer.fed).at(0);
  ASSERT_EQ(found.dtype(), layer.graph.outputs()[0]->dtype()) << what;
  const auto off = (found.tensor().to(at::kInt) - expected.to(at::kInt)).ne(0).sum().item<std::int64_t>();
  EXPECT_EQ(off, 0) << what << ": of " << expected.numel() << " codes";
  if (!has_byte_loops()) return;
  for (const EngineStep& step : engine.steps()) EXPECT_NE(step.kernel, "executor") << what;
}

TEST(EngineInteger, ConvGivesThePlainCodesUnderEveryRule) {
  at::manual_seed(1);
  for (const Geometry& geometry : geometries())
    for (const char* rule : {"mlas", "mlas_plain", "affine", "away", "tflite", "half_up", "float", "fbgemm", "qnnpack"})
      for (const bool relu : {false, true}) {
        const ConvCase one{geometry,
                           "uint8 affine tensor",
                           "int8 symmetric channel:0",
                           "uint8 affine tensor",
                           rule,
                           120,
                           0,
                           relu ? 0 : 100,
                           relu};
        expect_equal_codes(*conv_layer(one), std::string(geometry.name) + ", " + rule);
      }
}

TEST(EngineInteger, DepthwiseGivesThePlainCodesForAllChannelsAndWidths) {
  at::manual_seed(4);
  for (const std::int64_t channels : {2, 31, 32, 33, 50, 63, 64, 65, 80, 96, 97, 128, 144, 160})
    for (const std::int64_t width : {1, 2, 3, 4, 7, 8})
      for (const std::int64_t stride : {1, 2}) {
        const Geometry geometry{"depthwise",         {2, channels, width + 1, width},
                                {channels, 1, 3, 3}, {1, 1, 1, 1},
                                {stride, stride},    channels};
        for (const char* x : {"uint8 affine tensor", "int8 affine tensor"})
          for (const std::int32_t zero : {0, 11}) {
            const ConvCase one{geometry, x,    "int8 symmetric channel:0", "uint8 affine tensor", "mlas", 5, 0,
                               zero,     false};
            expect_equal_codes(*conv_layer(one),
                               std::to_string(channels) + " channels, width " + std::to_string(width));
          }
      }
}

TEST(EngineInteger, ConvTakesSignedCodesZeroPointsAndFewerBits) {
  at::manual_seed(2);
  const std::string u8 = "uint8 affine tensor", s8 = "int8 affine tensor", sym = "int8 symmetric tensor";
  for (const Geometry& geometry : geometries())
    for (const char* rule : {"mlas", "affine", "away"}) {
      const std::vector<ConvCase> cases = {
          {geometry, u8, "int8 symmetric channel:0", u8, rule, 0, 0, 0, false},
          {geometry, s8, "int8 symmetric channel:0", s8, rule, -20, 0, 17, false},
          {geometry, sym, "int8 symmetric tensor", sym, rule, 0, 0, 0, true},
          {geometry, u8, "int6 affine tensor", s8, rule, 3, 5, -128, false},
          {geometry, "uint4 affine tensor", "int4 symmetric channel:0", "uint7 affine tensor", rule, 3, 0, 60, true}};
      for (const ConvCase& one : cases)
        expect_equal_codes(*conv_layer(one), std::string(geometry.name) + ", " + rule + ", " + one.x + ", " + one.w);
    }
}

TEST(EngineInteger, GemmAndMatMulGiveThePlainCodes) {
  at::manual_seed(3);
  for (const char* rule : {"mlas", "affine", "away", "tflite", "half_up", "float"})
    for (const bool transposed : {false, true}) {
      const QType x = type_of("uint8 affine tensor", 0.02F, 130), y = type_of("int8 affine tensor", 0.2F, 11);
      const QType w = channel_type(transposed ? "int8 symmetric channel:0" : "int8 symmetric channel:1", 30, 0.004F);
      OneLayer layer;
      layer.operand(random_codes({5, 70}, x.scheme), x);
      layer.operand(random_codes(transposed ? Ints{30, 70} : Ints{70, 30}, w.scheme), w, true);
      layer.params(y);
      layer.inputs.push_back(&layer.constant(at::randint(-5000, 5000, {30}, at::kInt)));
      layer.node("quench.QGemm", {{"transB", std::int64_t{transposed}}, {"requantize", std::string(rule)}});
      expect_equal_codes(layer, std::string("Gemm, ") + rule);
    }
  const QType x = type_of("int8 affine tensor", 0.02F, -7), y = type_of("uint8 affine tensor", 0.2F, 120);
  const QType w = channel_type("int8 symmetric channel:1", 30, 0.004F);
  OneLayer layer;
  layer.operand(random_codes({2, 3, 5, 70}, x.scheme), x);
  layer.operand(random_codes({70, 30}, w.scheme), w, true);
  layer.params(y);
  layer.node("quench.QMatMul", {{"requantize", std::string("mlas")}});
  expect_equal_codes(layer, "MatMul");
}

TEST(EngineInteger, MatMulOfTwoActivationsGivesThePlainCodes) {
  at::manual_seed(31);
  const QType u8 = type_of("uint8 affine tensor", 0.02F, 130), s8 = type_of("int8 affine tensor", 0.03F, -7);
  for (const char* rule : {"mlas", "affine", "away", "tflite", "half_up", "float"})
    for (const QType& a : {u8, s8})
      for (const QType& b : {u8, s8})
        for (const Ints& leading : {Ints{}, Ints{3}, Ints{2, 4}}) {
          Ints left = leading, right = leading;
          left.insert(left.end(), {5, 70});
          right.insert(right.end(), {70, 33});
          const QType y = type_of("uint8 affine tensor", 0.9F, 120);
          OneLayer layer;
          layer.operand(random_codes(left, a.scheme), a);
          layer.operand(random_codes(right, b.scheme), b);
          layer.params(y);
          layer.node("quench.QMatMul", {{"requantize", std::string(rule)}});
          expect_equal_codes(layer, std::string("MatMul of two, ") + rule);
        }
}

TEST(EngineInteger, AveragePoolGivesThePlainCodes) {
  at::manual_seed(32);
  const QType u8 = type_of("uint8 affine tensor", 0.021F, 13), s8 = type_of("int8 affine tensor", 0.021F, -9);
  const QType y = type_of("uint8 affine tensor", 0.012F, 118);
  struct Window {
    Ints kernel, strides, pads;
  };
  for (const char* rule : {"mlas", "mlas_plain", "affine", "away", "half_up", "float"})
    for (const QType& x : {u8, s8})
      for (const std::int64_t counts_pads : {0, 1})
        for (const Window& window : {Window{{3, 3}, {1, 1}, {1, 1, 1, 1}}, Window{{2, 3}, {2, 3}, {0, 1, 1, 0}},
                                     Window{{5, 4}, {1, 2}, {0, 0, 0, 0}}}) {
          OneLayer pool;
          pool.operand(random_codes({3, 37, 9, 8}, x.scheme), x);
          pool.params(y);
          pool.node("quench.QAveragePool", {{"requantize", std::string(rule)},
                                            {"kernel_shape", window.kernel},
                                            {"strides", window.strides},
                                            {"pads", window.pads},
                                            {"count_include_pad", counts_pads}});
          expect_equal_codes(pool, std::string("AveragePool, ") + rule);
        }
}

TEST(EngineInteger, PairsGiveThePlainCodesUnderEveryRule) {
  at::manual_seed(4);
  for (const char* op : {"quench.QAdd", "quench.QMul"})
    for (const char* rule : {"mlas", "mlas_plain", "affine", "away", "tflite", "half_up", "float", "fbgemm", "qnnpack"})
      for (const bool is_signed : {false, true}) {
        const QType a = type_of("uint8 affine tensor", 0.021F, 13);
        const QType b =
            is_signed ? type_of("int8 affine tensor", 0.013F, -9) : type_of("uint8 affine tensor", 0.03F, 99);
        const QType y = is_signed ? type_of("int8 affine tensor", 0.04F, 3) : type_of("uint8 affine tensor", 0.04F, 88);
        OneLayer layer;
        layer.operand(random_codes({2, 19, 6, 5}, a.scheme), a);
        layer.operand(random_codes({2, 19, 6, 5}, b.scheme), b);
        layer.params(y);
        layer.node(op, {{"requantize", std::string(rule)}, {"clip_min", 0.0}});
        expect_equal_codes(layer, std::string(op) + ", " + rule);
      }
}

TEST(EngineInteger, PoolsAndConcatGiveThePlainCodes) {
  at::manual_seed(5);
  const QType a = type_of("uint8 affine tensor", 0.021F, 13), y = type_of("uint8 affine tensor", 0.01F, 18);
  for (const char* rule : {"mlas", "affine", "away", "tflite", "half_up", "float"}) {
    OneLayer pool;
    pool.operand(random_codes({3, 37, 7, 6}, a.scheme), a);
    pool.params(y);
    pool.node("quench.QGlobalAveragePool", {{"requantize", std::string(rule)}});
    expect_equal_codes(pool, std::string("GlobalAveragePool, ") + rule);
    OneLayer join;
    join.operand(random_codes({2, 5, 4, 3}, a.scheme), a);
    join.operand(random_codes({2, 9, 4, 3}, y.scheme), y);
    join.params(y);
    join.node("quench.QConcat", {{"requantize", std::string(rule)}, {"axis", std::int64_t{1}}});
    expect_equal_codes(join, std::string("Concat, ") + rule);
  }
}

TEST(EngineInteger, QuantizesAndDequantizes) {
  at::manual_seed(6);
  for (const char* by : {"division", "reciprocal"})
    for (const Ints& sizes : {Ints{2, 3, 33, 31}, Ints{4, 50}, Ints{2, 7, 9}}) {
      at::Tensor x = at::randn(sizes) * 3;
      x.view(-1)[0] = std::numeric_limits<float>::quiet_NaN();
      x.view(-1)[1] = std::numeric_limits<float>::infinity();
      x.view(-1)[2] = -std::numeric_limits<float>::infinity();
      x.view(-1).slice(0, 3, 30).copy_(at::arange(27) * 0.25 - 3);  // ties
      const QType type = type_of("uint8 affine tensor", 0.5F, 13);
      OneLayer layer;
      layer.fed.emplace_back(x);
      layer.inputs.push_back(&layer.graph.add_input("x", layer.fed[0].type()));
      layer.params(type);
      Node& codes = layer.graph.add("quench.Quantize", "q", layer.inputs);
      codes.attrs = {{"scheme", type.scheme.text()}, {"by", std::string(by)}};
      Node& back = layer.graph.add("quench.Dequantize", "dq", {&codes.output(), layer.inputs[1], layer.inputs[2]});
      back.attrs = {{"scheme", type.scheme.text()}};
      layer.graph.add_output(codes.output());
      layer.graph.add_output(back.output());
      infer_shapes(layer.graph);
      const std::vector<RtValue> expected = Executor(layer.graph).run(layer.fed),
                                 found = Engine(layer.graph).run(layer.fed);
      EXPECT_TRUE(at::equal(found[0].tensor(), expected[0].tensor())) << by;
      EXPECT_TRUE(at::equal(found[1].tensor(), expected[1].tensor())) << by;
    }
}

}  // namespace
}  // namespace quench
