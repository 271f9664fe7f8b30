#include "reconstruct/sensitivity.h"

#include <gtest/gtest.h>

#include "quench/ptq_method.h"
#include "reconstruct/nets.h"

namespace quench {
namespace {

std::map<std::string, at::Tensor> found;  // by unit, for all items

void look(UnitWork& work, UnitRecord&) {
  found[work.unit().name] = work.sensitivity(at::arange(work.items(), at::kLong)).clone();
}
QUENCH_REGISTER_PTQ_METHOD("look_at_sensitivity", look, "for a test", {}, "layer")

at::Tensor second_weight() {
  return at::tensor({4.0F, 0.0F, 1.0F, 0.5F, -2.0F, 0.0F, 1.0F, 1.0F, -1.0F, 0.0F, 1.0F, -0.5F}).reshape({3, 4});
}

// x [N, 4] -> a -> b [N, 3]; as a sequence of length one if `logits` is false.
QuantizedModel two_layers(const Dataset& data, bool logits) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 4}));
  const auto gemm = [&](const std::string& name, Value& in, const at::Tensor& weight) -> Value& {
    Node& node = graph.add("Gemm", name, {&in, &graph.add_constant(name + ".weight", weight)});
    node.attrs["transB"] = std::int64_t{1};
    return node.output();
  };
  Value* y = &gemm("b", gemm("a", x, at::eye(4)), second_weight());
  if (!logits)
    y = &graph.add("Unsqueeze", "end", {y, &graph.add_constant("axis", at::tensor({2}, at::kLong))}).output();
  graph.add_output(*y);
  infer_shapes(graph);
  QuantizedModel model = prepare_by_platform(graph, "academic", few_bits(8));
  calibrate(model, data);
  return model;
}

at::Tensor mean_sensitivity(bool logits) {
  std::vector<at::Tensor> items(4000, at::tensor({0.1F, 0.2F, -0.1F, 0.3F}));  // all alike: only directions differ
  const auto data = dataset_of(std::move(items));
  QuantizedModel model = two_layers(*data, logits);
  ReconstructOptions options;
  options.method = "look_at_sensitivity";
  options.options = Options{{"batch", 500.0}};
  reconstruct(model, *data, options);
  EXPECT_EQ(found.at("a").sizes(), (std::vector<std::int64_t>{4000, 4}));
  EXPECT_NEAR(found.at("a").mean().item<double>(), 1, 1e-4);
  return found.at("a").mean(0);
}

// Half of it is the same for all elements, the rest goes by the curvature.
void expect_like(const at::Tensor& sensitivity, const at::Tensor& curvature) {
  const at::Tensor wanted = 0.5 + 0.5 * curvature / curvature.mean();
  EXPECT_TRUE(at::allclose(sensitivity, wanted, 0.06, 0.02)) << sensitivity << wanted;
}

// The squared error minds an element by the squares of what it is multiplied with.
TEST(Sensitivity, OfASquaredErrorIsTheSquaredWeights) {
  expect_like(mean_sensitivity(false), second_weight().square().sum(0));
}

TEST(Sensitivity, OfLogitsIsTheFisherInformation) {
  const at::Tensor b = second_weight(), x = at::tensor({0.1F, 0.2F, -0.1F, 0.3F});
  const at::Tensor p = b.matmul(x).softmax(0);
  const at::Tensor fisher = b.t().matmul(p.diag() - p.outer(p)).matmul(b).diagonal();
  expect_like(mean_sensitivity(true), fisher);
  EXPECT_NEAR(mean_sensitivity(true)[1].item<double>(), 0.5 + 0.5 * (fisher[1] / fisher.mean()).item<double>(), 0.05);
}

TEST(Sensitivity, WeighsWhatTheLossOfAMethodSees) {
  const auto data = random_images(32);
  QuantizedModel plain = calibrated_net(*data), weighed = calibrated_net(*data);
  ReconstructOptions options;
  options.method = "brecq";
  options.options = Options{{"max_count", 100.0}, {"batch", 16.0}, {"lr", 1e-2}};
  reconstruct(plain, *data, options);
  options.options.set("loss", std::string("fisher"));
  const ReconstructionRecord record = reconstruct(weighed, *data, options);
  EXPECT_FALSE(
      plain.graph.value("block0.conv1.weight").tensor().equal(weighed.graph.value("block0.conv1.weight").tensor()));
  for (const UnitRecord& unit : record.units)
    if (unit.name != "stem.conv") EXPECT_LT(unit.error_after, unit.error_before) << unit.name;
}

}  // namespace
}  // namespace quench
