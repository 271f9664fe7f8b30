#include "quench/profile.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "measure/error_sums.h"
#include "quench/calibrate.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/prepare.h"
#include "report/profile_text.h"
#include "support/expect_error.h"

namespace quench {
namespace {

// Ten random images of [2, 6, 6], the same on each call.
class Noise : public Dataset {
 public:
  std::int64_t size() const override { return 10; }
  Sample get(std::int64_t index) const override {
    Sample sample;
    sample.inputs = RtValue(all_[index]);
    return sample;
  }
  Task task() const override { return Task::kNone; }
  const at::Tensor& all() const { return all_; }

 private:
  at::Tensor all_ = [] {
    at::manual_seed(3);
    return at::randn({10, 2, 6, 6});
  }();
};

Graph two_convolutions(Dim batch = Dim::symbol("N")) {
  at::manual_seed(4);
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {std::move(batch), 2, 6, 6}));
  Value& w1 = graph.add_constant("w1", at::randn({4, 2, 3, 3}));
  Value& w2 = graph.add_constant("w2", at::randn({3, 4, 3, 3}));
  Node& first = graph.add("Conv", "first", {&x, &w1});
  Node& relu = graph.add("Relu", "relu", {&first.output()});
  Node& second = graph.add("Conv", "second", {&relu.output(), &w2});
  graph.add_output(second.output());
  return graph;
}

// By fours: the moving average of the ranges depends on the batch.
QuantizedModel calibrated(const Graph& graph) {
  QuantizedModel result = prepare_by_platform(graph, "tensorrt");
  CalibrationOptions options;
  options.batch = 4;
  calibrate(result, Noise(), options);
  return result;
}

at::Tensor output_of(const Graph& graph, const std::string& value) {
  Executor executor(graph);
  return executor.run({{"x", RtValue(Noise().all())}}, {value}).at(value).tensor();
}

double plain_sqnr(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor a = x.to(at::kDouble), b = y.to(at::kDouble);
  return 10 * std::log10(((a * a).sum() / ((a - b) * (a - b)).sum()).item<double>());
}

// The walk sums in another order (channels last, other batches): relative 1e-6 of an activation. That a value lies so
// near a tie of 256 codes happens here once in about a hundred thousand values; there are a few thousand.
constexpr double kNear = 1e-3;

TEST(Profile, TheFirstLayerAloneIsTheFirstLayerSoFar) {
  const QuantizedModel graph = calibrated(two_convolutions());
  const ProfileRecord record = profile(graph, Noise());
  ASSERT_EQ(record.layers.size(), 2U);
  EXPECT_EQ(record.items, 10);
  const LayerProfile& first = record.layers[0];
  EXPECT_EQ(first.name, "first");
  EXPECT_EQ(first.output, "relu.fq");  // the layer is Conv and Relu, with its output's quantizer
  EXPECT_NEAR(first.standalone.sqnr.value, first.cumulative.sqnr.value, kNear);
  EXPECT_NEAR(first.standalone.sqnr.value,
              plain_sqnr(output_of(two_convolutions(), "relu"), output_of(graph.graph, "relu.fq")), kNear);
}

TEST(Profile, TheLastLayerSoFarIsTheWholeNetwork) {
  const QuantizedModel graph = calibrated(two_convolutions());
  const ProfileRecord record = profile(graph, Noise());
  const LayerProfile& last = record.layers.back();
  EXPECT_EQ(last.name, "second");
  const at::Tensor x = output_of(two_convolutions(), "second"), y = output_of(graph.graph, "second");
  EXPECT_NEAR(last.cumulative.sqnr.value, plain_sqnr(x, y), kNear);
  EXPECT_NEAR(last.cumulative.mse.value, (x - y).pow(2).mean().item<double>(), kNear * last.cumulative.mse.value);
  EXPECT_NEAR(last.cumulative.max, (x - y).abs().max().item<double>(), kNear * last.cumulative.max);
}

TEST(Profile, ALayerAloneIsTheNetworkWithItsQuantizersAlone) {
  const QuantizedModel graph = calibrated(two_convolutions());
  Graph alone = graph.graph;
  set_state(alone, std::nullopt, {});
  for (const char* node : {"relu.fq", "w2.fq"}) set_fake_quant_flags(*alone.find_node(node), {.quantize = true});
  const ProfileRecord record = profile(graph, Noise());
  EXPECT_NEAR(record.layers[1].standalone.sqnr.value,
              plain_sqnr(output_of(two_convolutions(), "second"), output_of(alone, "second")), kNear);
  EXPECT_LT(record.layers[1].cumulative.sqnr.value, record.layers[1].standalone.sqnr.value);
}

TEST(Profile, IsTheSameAtAnyBatchAndWhereTheModelFixesOne) {
  const QuantizedModel graph = calibrated(two_convolutions()), fixed = calibrated(two_convolutions(4));
  ProfileOptions options;
  options.batch = 3;
  const ProfileRecord all = profile(graph, Noise()), by_three = profile(graph, Noise(), options),
                      by_four = profile(fixed, Noise());  // 10 images: the last batch is padded
  for (const ProfileRecord& other : {by_three, by_four}) {
    EXPECT_EQ(other.items, 10);
    for (std::size_t i = 0; i < all.layers.size(); ++i) {
      EXPECT_NEAR(other.layers[i].standalone.sqnr.value, all.layers[i].standalone.sqnr.value, kNear);
      EXPECT_NEAR(other.layers[i].cumulative.cosine.error, all.layers[i].cumulative.cosine.error, 1e-6);
    }
  }
}

TEST(Profile, RanksTheWorstFirst) {
  QuantConfig config;
  LayerRule rule;
  rule.match = "second";
  rule.weight.bits = 2;
  config.layers = {rule};
  QuantizedModel graph = prepare_by_platform(two_convolutions(), "onnxruntime", config);
  calibrate(graph, Noise());
  const ProfileRecord record = profile(graph, Noise());
  EXPECT_EQ(record.layers[0].name, "first");
  EXPECT_EQ(ranked_by_damage(record)[0].name, "second");
  EXPECT_EQ(json_of(record).at("layers")[0].at("name"), "second");
  EXPECT_NE(profile_table(record, 1).find("and 1 layers with less damage"), std::string::npos);
  const std::string narrow = profile_table(record, 0, 50);
  EXPECT_LE(narrow.find('\n'), 50U) << narrow;
  for (const char* part : {"layer", "loses most", "SQNR alone", "SQNR so far", "second"})
    EXPECT_NE(narrow.find(part), std::string::npos) << narrow;
  for (const char* part : {"cosine", "MSE", "max error", "Conv"}) EXPECT_EQ(narrow.find(part), std::string::npos);
}

// Each with what comes before it, so that they add up.
TEST(Profile, TellsWhichQuantizersOfALayerLoseMost) {
  const QuantizedModel graph = calibrated(two_convolutions());
  Graph weight = graph.graph;
  set_state(weight, std::nullopt, {});
  set_fake_quant_flags(*weight.find_node("w2.fq"), {.quantize = true});
  Graph both = weight;
  set_fake_quant_flags(*both.find_node("relu.fq"), {.quantize = true});
  const at::Tensor plain = output_of(two_convolutions(), "second"), by_weight = output_of(weight, "second");
  const LayerProfile second = profile(graph, Noise()).layers[1];
  EXPECT_NEAR(second.parts.weight.value, plain_sqnr(plain, by_weight), kNear);
  EXPECT_NEAR(second.parts.input.value, plain_sqnr(by_weight, output_of(both, "second")), kNear);
  EXPECT_TRUE(std::isinf(second.parts.output.value));  // the network's output has no quantizer
  EXPECT_EQ(second.worst(), second.parts.weight.value < second.parts.input.value ? "weight" : "input");
  const LayerProfile first = profile(graph, Noise()).layers[0];
  EXPECT_NEAR(first.parts.output.value, plain_sqnr(output_of(graph.graph, "relu"), output_of(graph.graph, "relu.fq")),
              kNear);
}

TEST(Profile, NamesThePartWithFewBits) {
  for (const bool weight : {true, false}) {
    QuantConfig config;
    LayerRule rule;
    rule.match = "second";
    (weight ? rule.weight : rule.activation).bits = 2;
    config.layers = {rule};
    QuantizedModel graph = prepare_by_platform(two_convolutions(), "onnxruntime", config);
    calibrate(graph, Noise());
    const ProfileRecord record = profile(graph, Noise());
    EXPECT_EQ(record.layers[1].worst(), weight ? "weight" : "input");
    EXPECT_EQ(json_of(record).at("layers")[0].at("worst"), weight ? "weight" : record.layers[0].worst());
  }
}

// A layer that is left float can be told from one that is quantized.
TEST(Profile, MarksLayersThatStayFloat) {
  QuantConfig config;
  LayerRule rule;
  rule.match = "second";
  rule.keep_float = true;
  config.layers = {rule};
  QuantizedModel graph = prepare_by_platform(two_convolutions(), "tensorrt", config);
  calibrate(graph, Noise());
  const ProfileRecord record = profile(graph, Noise());
  ASSERT_EQ(record.layers.size(), 2U);
  EXPECT_FALSE(record.layers[0].stays_float);
  EXPECT_TRUE(record.layers[1].stays_float);
  EXPECT_LT(record.layers[1].cumulative.sqnr.value, 100.0);  // it reads what the first one lost
  EXPECT_NE(profile_table(record).find("stays float"), std::string::npos) << profile_table(record);
  EXPECT_EQ(json_of(record).at("layers")[1].at("stays_float"), true);
}

TEST(Profile, RefusesWhatWasNeverCalibrated) {
  const QuantizedModel graph = prepare_by_platform(two_convolutions(), "tensorrt");
  EXPECT_ERROR(profile(graph, Noise()), "while profiling", "the model is prepared, not calibrated");
}

// It was a table of nothing but NaN.
TEST(Profile, DataThatIsNotANumberIsNamed) {
  class Broken : public Noise {
   public:
    Sample get(std::int64_t index) const override {
      Sample sample = Noise::get(index);
      sample.name = std::to_string(index);
      if (index == 3) sample.inputs = RtValue(at::full({2, 6, 6}, std::nan("")));
      return sample;
    }
  };
  EXPECT_ERROR(profile(calibrated(two_convolutions()), Broken()), "item '3' has NaN in its input 'x'");
}

TEST(WithoutQuantizers, GivesTheFloatNetworkBitForBit) {
  const Graph plain = without_quantizers(calibrated(two_convolutions()).graph);
  EXPECT_TRUE(at::equal(output_of(plain, "second"), output_of(two_convolutions(), "second")));
}

TEST(ErrorSums, KnowsTheSignOfACosine) {
  const at::Tensor x = at::arange(1.0F, 13.0F).reshape({3, 4});
  ErrorSums sums;
  sums.add(x, -x, 3);
  EXPECT_DOUBLE_EQ(sums.result().cosine.value, -1.0);
  EXPECT_EQ(sums.result().max, 24.0);
}

// Two images: x = (3, 4), y = (3, 3); x = (0, 1), y = (0, 1). Errors 1 and 0 of 25 and 1.
TEST(ErrorSums, IsWhatTheFormulasSay) {
  ErrorSums sums;
  sums.add(at::tensor({3.0F, 4.0F, 0.0F, 1.0F}).reshape({2, 2}), at::tensor({3.0F, 3.0F, 0.0F, 1.0F}).reshape({2, 2}),
           2);
  const TensorError error = sums.result();
  EXPECT_NEAR(error.sqnr.value, 10 * std::log10(26.0), 1e-12);
  // r = 1/26, residuals (1 - 25/26) / 13 and -(1/26) / 13: +-1/338; their standard error is 1/338.
  EXPECT_NEAR(error.sqnr.error, 10 / std::log(10.0) * 26 / 338, 1e-12);
  EXPECT_NEAR(error.mse.value, 0.25, 1e-12);
  EXPECT_NEAR(error.mse.error, 0.25, 1e-12);
  EXPECT_NEAR(error.cosine.value, (21 / std::sqrt(25.0 * 18.0) + 1) / 2, 1e-12);
}

TEST(ErrorSums, SaysInfiniteForEqualAndUnknownForOneImage) {
  ErrorSums sums;
  sums.add(at::ones({1, 4}), at::ones({1, 4}), 1);
  EXPECT_TRUE(std::isinf(sums.result().sqnr.value));
  EXPECT_TRUE(std::isnan(sums.result().mse.error));
  EXPECT_EQ(sums.result().cosine.value, 1.0);
}

// The reference is the network as it came, and a change that equalizing made must show.
TEST(Profile, ComparesAnEqualizedNetworkWithTheOneThatCame) {
  const Graph came = two_convolutions(), reference = without_quantizers(calibrated(came).graph);
  Graph scaled(came);
  const at::Tensor c = at::tensor({0.5, 2.0, 4.0, 1.0});
  scaled.set_tensor(scaled.value("w1"), came.value("w1").tensor() / c.reshape({4, 1, 1, 1}).to(at::kFloat));
  scaled.set_tensor(scaled.value("w2"), came.value("w2").tensor() * c.reshape({1, 4, 1, 1}).to(at::kFloat));
  ProfileOptions options;
  for (const char* value : {"first", "relu"}) options.scaled[value] = {{0.5, 2.0, 4.0, 1.0}, 1};
  const QuantizedModel quantized = calibrated(scaled);
  // Powers of two: dividing and multiplying by them is exact, so that both references give the same.
  const ProfileRecord beside_scaled = profile(quantized, Noise()),
                      beside_came = profile(quantized, Noise(), options, &reference);
  ASSERT_EQ(beside_came.layers.size(), beside_scaled.layers.size());
  for (std::size_t i = 0; i < beside_came.layers.size(); ++i) {
    EXPECT_NEAR(beside_came.layers[i].standalone.sqnr.value, beside_scaled.layers[i].standalone.sqnr.value, 1e-3);
    EXPECT_NEAR(beside_came.layers[i].cumulative.sqnr.value, beside_scaled.layers[i].cumulative.sqnr.value, 1e-3);
  }
  // A wrong scaling is invisible beside itself, and plain beside what came.
  Graph wrong(scaled);
  wrong.set_tensor(wrong.value("w2"), came.value("w2").tensor());
  const QuantizedModel bad = calibrated(wrong);
  EXPECT_GT(profile(bad, Noise()).layers.back().cumulative.sqnr.value, 20);
  EXPECT_LT(profile(bad, Noise(), options, &reference).layers.back().cumulative.sqnr.value, 10);
}

}  // namespace
}  // namespace quench
