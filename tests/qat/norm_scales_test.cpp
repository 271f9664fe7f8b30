#include "qat/norm_scales.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "qat/quarters_net.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

std::vector<const Node*> norm_weights(const Graph& graph) {
  std::vector<const Node*> found;
  for (const auto& node : graph.nodes())
    if (node->op() == "quench.NormWeight") found.push_back(node.get());
  return found;
}

const Node& quantizer_of(const Node& norm_weight) { return *norm_weight.output(0).uses()[0].node; }

// What a layer computes with, W * k quantized and divided by k, is the same whatever k has become.
TEST(NormScales, MoveWithTheNorms) {
  QuantizedModel model = calibrated();
  const std::vector<const Node*> nodes = norm_weights(model.graph);
  ASSERT_GE(nodes.size(), 2U);
  NormScales scales(model.graph);
  std::vector<at::Tensor> before;
  for (const Node* node : nodes) before.push_back(quantizer_of(*node).input(1)->tensor().detach().clone());
  const at::NoGradGuard no_grad;
  for (const Node* node : nodes) {
    const double epsilon = node->get_float("epsilon", 1e-5);
    at::Tensor(node->input(2)->tensor()).add_(epsilon).div_(4).sub_(epsilon);  // k is twice as large
    at::Tensor(node->input(1)->tensor()).mul_(-3);                             // and six times, with the other sign
  }
  for (int times = 0; times < 2; ++times) {
    scales.follow();
    for (std::size_t i = 0; i < nodes.size(); ++i)
      EXPECT_TRUE(at::allclose(quantizer_of(*nodes[i]).input(1)->tensor(), before[i] * 6, 1e-5)) << nodes[i]->name();
  }
}

// One that is a power of two must stay one, and one scale for all channels cannot move with each.
TEST(NormScales, StayWhereTheyAreNotTheChannelsOwn) {
  QuantConfig config;
  config.platform = "vitis";
  QuantizedModel model = prepare(net(), config, live());
  calibrate(model, items());
  NormScales scales(model.graph);
  std::vector<at::Tensor> before;
  const std::vector<const Node*> nodes = norm_weights(model.graph);
  ASSERT_FALSE(nodes.empty());
  for (const Node* node : nodes) before.push_back(quantizer_of(*node).input(1)->tensor().detach().clone());
  const at::NoGradGuard no_grad;
  for (const Node* node : nodes) at::Tensor(node->input(1)->tensor()).mul_(2);
  scales.follow();
  for (std::size_t i = 0; i < nodes.size(); ++i)
    EXPECT_TRUE(quantizer_of(*nodes[i]).input(1)->tensor().equal(before[i]));
}

at::Tensor factor_of(const Node& node) {
  const at::Tensor deviation = (node.input(2)->tensor() + node.get_float("epsilon", 1e-5)).sqrt();
  return (node.input(1)->tensor().detach() / deviation).abs();
}

// Quantizers that do not learn: all that moves their scales is the norm behind them.
TEST(NormScales, MoveWhileItTrains) {
  QuantizedModel model = prepared("fixed");
  calibrate(model, items());
  const std::vector<const Node*> nodes = norm_weights(model.graph);
  std::vector<at::Tensor> scales, factors;
  for (const Node* node : nodes) {
    scales.push_back(quantizer_of(*node).input(1)->tensor().clone());
    factors.push_back(factor_of(*node));
  }
  TrainOptions options = quick();
  options.keep_best = false;
  train(model, {items()}, options);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const at::Tensor moved = quantizer_of(*nodes[i]).input(1)->tensor() / scales[i];
    EXPECT_TRUE(at::allclose(moved, factor_of(*nodes[i]) / factors[i], 1e-4)) << nodes[i]->name();
    EXPECT_GT((moved - 1).abs().max().item<double>(), 0.01) << nodes[i]->name();
  }
}

}  // namespace
}  // namespace quench
