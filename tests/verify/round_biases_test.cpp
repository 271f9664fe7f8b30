#include "verify/round_biases.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "calibrate/small_graph.h"
#include "quench/executor.h"
#include "quench/fake_quant.h"
#include "quench/prepare.h"

namespace quench {
namespace {

// Quantizers on x, both weights and both Relus; conv1 goes to one through a Relu, conv2 to the Add.
Graph quantized() {
  Graph graph = quantized_model().graph;
  for (const Node* node : quantizers_of(graph)) {
    const FakeQuantSpec spec = fake_quant_spec(*node);
    QParams params{std::vector<float>(spec.scheme.per_tensor() ? 1 : 4, 0.25F), {}};
    params.zero_point.assign(params.scale.size(), 0);
    make_fake_quant(spec)->accept(params, fake_quant_tensors(*node));
  }
  set_state(graph, std::nullopt, {.quantize = true});
  graph.set_tensor(graph.value("b1"), at::tensor({0.1F, 0.03125F, -1.0F, 0.09375F}));
  return graph;
}

TEST(RoundBiases, TakesTheOnesInFrontOfAQuantizer) {
  Graph graph = quantized();
  EXPECT_EQ(round_biases(graph), 1);
  EXPECT_EQ(round_biases(graph), 0);
  graph.verify();
  const Node& conv1 = *graph.find_node("conv1");
  EXPECT_EQ(conv1.input(2)->producer()->op(), "quench.QuantizeBias");
  EXPECT_TRUE(graph.find_node("conv2")->input(2)->is_constant());
  // In steps of 0.25 * 0.25: 1.6, 0.5, -16 and 1.5, ties to even.
  const std::string name = conv1.input(2)->name();
  const at::Tensor rounded = Executor(graph).run({}, {name}).at(name).tensor();
  EXPECT_TRUE(rounded.equal(at::tensor({0.125F, 0.0F, -1.0F, 0.125F}))) << rounded;
}

TEST(RoundBiases, LeavesWhatDoesNotFitInt32) {
  Graph graph = quantized();
  graph.set_tensor(graph.value("b1"), at::full({4}, 1e9F));
  EXPECT_EQ(round_biases(graph), 0);
}

}  // namespace
}  // namespace quench
