#include "reconstruct/scales_at_work.h"

#include <gtest/gtest.h>

#include "reconstruct/nets.h"

namespace quench {
namespace {

Node& quantizer_of(Graph& graph, const std::string& value) { return *graph.find_node(quantizer_name(value)); }

// The second takes the scale of the first, which learns or not; the scale before and after.
std::pair<at::Tensor, at::Tensor> shared_scale(const std::string& first, const std::string& second) {
  const auto data = random_images(32);
  QuantizedModel model = calibrated_net(*data);
  model.graph.set_input(quantizer_of(model.graph, second), 1, quantizer_of(model.graph, first).input(1));
  const at::Tensor before = quantizer_of(model.graph, first).input(1)->tensor().clone();
  ReconstructOptions options;
  options.method = "brecq";
  options.options = Options{{"max_count", 30.0}, {"batch", 16.0}, {"scale_lr", 1e-2}};
  reconstruct(model, *data, options);
  EXPECT_EQ(quantizer_of(model.graph, second).input(1), quantizer_of(model.graph, first).input(1));
  return {before, quantizer_of(model.graph, first).input(1)->tensor()};
}

TEST(ScalesAtWork, AScaleThatQuantizersOfOneUnitShareLearns) {
  const auto [before, after] = shared_scale("block0.relu1", "block0.relu2");
  EXPECT_FALSE(before.equal(after));
  EXPECT_GT(after.item<double>(), 0);
}

TEST(ScalesAtWork, AScaleThatUnitsShareStays) {
  const auto [before, after] = shared_scale("block0.relu1", "block1.relu1");
  EXPECT_TRUE(before.equal(after));
}

TEST(ScalesAtWork, QuantizersDropWhileItLivesAndAreThenWhatTheyWere) {
  const auto data = random_images(8);
  QuantizedModel model = calibrated_net(*data);
  Node& node = quantizer_of(model.graph, "block0.relu1");
  EXPECT_TRUE(scale_may_learn(node, {&node}));
  {
    const ScalesAtWork scales({&node}, 0.25, true);
    EXPECT_EQ(fake_quant_spec(node).algorithm, "qdrop");
    EXPECT_EQ(fake_quant_spec(node).options.number("prob"), 0.25);
    ASSERT_EQ(scales.tensors().size(), 1U);
    EXPECT_TRUE(scales.tensors()[0].requires_grad());
  }
  EXPECT_EQ(fake_quant_spec(node).algorithm, "fixed");
  EXPECT_FALSE(node.input(1)->tensor().requires_grad());
  QuantizedModel powers = calibrated_net(*data, 0, "vitis");
  for (Node* one : quantizers_of(powers.graph))
    if (one->input(1)) EXPECT_FALSE(scale_may_learn(*one, {one})) << one->name();
}

}  // namespace
}  // namespace quench
