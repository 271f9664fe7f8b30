#include "quench/tensor_histogram.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "quench/calibrate.h"
#include "quench/prepare.h"
#include "support/expect_error.h"

namespace quench {
namespace {

// Three items of [2, 4]: 0 to 7, and their multiples.
class Counting : public Dataset {
 public:
  std::int64_t size() const override { return 3; }
  Sample get(std::int64_t index) const override {
    Sample sample;
    sample.inputs = RtValue(at::arange(8, at::kFloat).reshape({2, 4}) * static_cast<double>(index + 1));
    return sample;
  }
  Task task() const override { return Task::kNone; }
};

// y = x W with weights of two output channels: -1 to 1, and ten times that.
Graph one_product(Dim batch = Dim::symbol("N")) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {std::move(batch), 2, 4}));
  const at::Tensor row = at::linspace(-1, 1, 4);
  Value& w = graph.add_constant("w", at::stack({row, row * 10}, 1));
  graph.add_output(graph.add("MatMul", "y", {&x, &w}).output());
  return graph;
}

QuantizedModel calibrated(Dim batch = Dim::symbol("N")) {
  QuantizedModel model = prepare_by_platform(one_product(std::move(batch)), "onnxruntime");
  calibrate(model, Counting());
  return model;
}

const TensorHistogram& of(const std::vector<TensorHistogram>& all, const std::string& value) {
  for (const TensorHistogram& one : all)
    if (one.value == value) return one;
  ADD_FAILURE() << "no histogram of " << value;
  return all.at(0);
}

std::int64_t sum(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

void set_params(const QuantizedModel& model, const std::string& value, const std::string& scheme, QParams params) {
  const Node* node = quantizer_of(model.graph, value);
  ASSERT_EQ(fake_quant_spec(*node).scheme.text(), scheme);
  set_qparams(*node, params);
}

TEST(TensorHistogram, CountsAWeightAndItsChannels) {
  const std::vector<TensorHistogram> all = weight_histograms(calibrated());
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].value, "w");
  EXPECT_EQ(all[0].role, Role::kWeight);
  EXPECT_EQ(all[0].elements, 8);
  EXPECT_EQ(all[0].lost, 0);
  EXPECT_EQ(sum(all[0].counts), 8);
  EXPECT_DOUBLE_EQ(all[0].min, -10.0);
  EXPECT_DOUBLE_EQ(all[0].max, 10.0);
  EXPECT_EQ(all[0].counts.front(), 1);
  EXPECT_EQ(all[0].counts.back(), 1);
  EXPECT_EQ(all[0].channel_min, (std::vector<float>{-1, -10}));
  EXPECT_EQ(all[0].channel_max, (std::vector<float>{1, 10}));
}

// Codes from -127 to 127, by channel: -10 and 10 are put four tenths, then six tenths of a step beyond the last ones.
TEST(TensorHistogram, WhatRoundsToTheLastCodeIsNotLost) {
  const QuantizedModel model = calibrated();
  set_params(model, "w", "int8 symmetric channel:1 narrow", {{1.0F / 127, 10.0F / 127.4F}, {0, 0}});
  EXPECT_EQ(weight_histograms(model)[0].lost, 0);
  set_params(model, "w", "int8 symmetric channel:1 narrow", {{1.0F / 127, 10.0F / 127.6F}, {0, 0}});
  const TensorHistogram lossy = weight_histograms(model)[0];
  EXPECT_EQ(lossy.lost, 2);
  EXPECT_EQ(lossy.lost_counts.front(), 1);
  EXPECT_EQ(lossy.lost_counts.back(), 1);
  EXPECT_EQ(sum(lossy.lost_counts), 2);
  EXPECT_NEAR(lossy.high[1], 10.0 * 127 / 127.6, 1e-5);
  EXPECT_EQ(lossy.low[1], -lossy.high[1]);
  EXPECT_EQ(lossy.high[0], 1.0F);
}

TEST(TensorHistogram, CountsActivationsOfTheFirstItems) {
  HistogramOptions options;
  options.items = 2;
  options.batch = 1;
  const std::vector<TensorHistogram> all = activation_histograms(calibrated(), Counting(), options);
  const TensorHistogram& x = of(all, "x");
  EXPECT_EQ(x.elements, 16);
  EXPECT_EQ(sum(x.counts), 16);
  EXPECT_DOUBLE_EQ(x.min, 0.0);
  EXPECT_DOUBLE_EQ(x.max, 14.0);
  // [N, T, C]: the last axis has the channels.
  EXPECT_EQ(x.channel_min, (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(x.channel_max, (std::vector<float>{8, 10, 12, 14}));
  ASSERT_EQ(x.low.size(), 1U);
  EXPECT_LT(x.low[0], x.high[0]);
}

TEST(TensorHistogram, CountsNoCopiesThatFillABatch) {
  const std::vector<TensorHistogram> all = activation_histograms(calibrated(2), Counting());
  EXPECT_EQ(of(all, "x").elements, 24);
}

// Calibration refuses such data; here bins without a number were counted, and bincount complained.
TEST(TensorHistogram, DataThatIsNotFiniteIsNamed) {
  class Broken : public Counting {
   public:
    explicit Broken(double bad) : bad_(bad) {}
    Sample get(std::int64_t index) const override {
      Sample sample = Counting::get(index);
      sample.name = std::to_string(index);
      if (index == 1) sample.inputs = RtValue(at::full({2, 4}, bad_));
      return sample;
    }

   private:
    double bad_;
  };
  EXPECT_ERROR(activation_histograms(calibrated(), Broken(std::nan(""))), "item '1' has NaN in its input 'x'");
  EXPECT_ERROR(activation_histograms(calibrated(), Broken(std::numeric_limits<double>::infinity())),
               "'x' holds a NaN or an infinity", "item '1' has an infinity in its input 'x'");
}

// Signals [1, 2, T] of 40 steps, then of 5.
class Signals : public Dataset {
 public:
  std::int64_t size() const override { return 2; }
  Sample get(std::int64_t index) const override {
    Sample sample;
    sample.inputs = RtValue(at::stack({at::ones({index == 0 ? 40 : 5}), at::full({index == 0 ? 40 : 5}, 3.0)}));
    return sample;
  }
  Task task() const override { return Task::kNone; }
};

TEST(TensorHistogram, TakesNoAxisOfAnyLengthForChannels) {
  for (const bool known : {true, false}) {
    Graph graph;
    const Dim channels = known ? Dim(2) : Dim::symbol("C");
    Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {1, channels, Dim::symbol("T")}));
    Value& w = graph.add_constant("w", at::linspace(-1, 1, 8).reshape({4, 2, 1}));
    graph.add_output(graph.add("Conv", "y", {&x, &w}).output());
    QuantizedModel model = prepare_by_platform(graph, "onnxruntime");
    calibrate(model, Signals());
    const TensorHistogram found = of(activation_histograms(model, Signals()), "x");
    EXPECT_EQ(found.elements, 90);
    EXPECT_EQ(found.channel_max, known ? (std::vector<float>{1, 3}) : std::vector<float>());
  }
}

// Of 0, 2 ... 14 four lie beyond 7, of 0, 3 ... 21 five.
TEST(TensorHistogram, CountsWhatTheScaleCutsOff) {
  const QuantizedModel model = calibrated();
  set_params(model, "x", "uint8 affine tensor", {{7.0F / 255}, {0}});
  const TensorHistogram x = of(activation_histograms(model, Counting()), "x");
  EXPECT_NEAR(x.high[0], 7.0F, 1e-5F);
  EXPECT_EQ(x.low[0], 0.0F);
  EXPECT_EQ(x.lost, 4 + 5);
}

TEST(TensorHistogram, RefusesWhatWasNeverCalibrated) {
  const QuantizedModel model = prepare_by_platform(one_product(), "onnxruntime");
  EXPECT_TRUE(weight_histograms(model).empty());
  EXPECT_ERROR(activation_histograms(model, Counting()), "calibrated");
}

}  // namespace
}  // namespace quench
