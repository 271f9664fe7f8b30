#include "reconstruct/rounding.h"

#include <gtest/gtest.h>

#include "quench/op.h"
#include "reconstruct/learn_rounding.h"
#include "reconstruct/nets.h"
#include "support/expect_error.h"

namespace quench {
namespace {

// x -> two convolutions over `axes` axes, in `groups` groups -> y.
Graph two_convolutions(int axes, std::int64_t groups) {
  at::manual_seed(7);
  Graph graph;
  Dims dims = {Dim::symbol("N"), 4};
  for (int i = 0; i < axes; ++i) dims.push_back(5);
  Value* x = &graph.add_input("x", TypeInfo::tensor(DType::kFloat, dims));
  for (const std::string name : {"a", "b", "c"}) {
    std::vector<std::int64_t> sizes = {4, 4 / groups};
    sizes.insert(sizes.end(), static_cast<std::size_t>(axes), 3);
    Value& weight = graph.add_constant(name + ".weight", at::randn(sizes) / 3);
    Node& node = graph.add("Conv", name, {x, &weight, &graph.add_constant(name + ".bias", at::randn({4}) / 8)});
    node.attrs["pads"] = std::vector<std::int64_t>(static_cast<std::size_t>(2 * axes), 1);
    node.attrs["group"] = groups;
    x = &relu(graph, name + ".relu", node.output());
  }
  graph.add_output(*x);
  infer_shapes(graph);
  return graph;
}

std::unique_ptr<Dataset> images(int axes) {
  at::manual_seed(8);
  std::vector<std::int64_t> sizes = {4};
  sizes.insert(sizes.end(), static_cast<std::size_t>(axes), 5);
  std::vector<at::Tensor> items;
  for (int i = 0; i < 32; ++i) items.push_back(at::randn(sizes));
  return dataset_of(std::move(items));
}

ReconstructOptions quick(double weight_scale_rate) {
  ReconstructOptions options;
  options.method = "brecq";
  options.options =
      Options{{"max_count", 150.0}, {"batch", 16.0}, {"lr", 1e-2}, {"weight_scale_lr", weight_scale_rate}};
  return options;
}

void expect_on_grids(const QuantizedModel& model) {
  for (const Node* node : quantizers_of(model.graph)) {
    if (fake_quant_spec(*node).role != Role::kWeight) continue;
    const at::Tensor weight = node->input(0)->tensor();
    EXPECT_TRUE(weight.equal(fake_quant_of(*node)->quantize(weight, fake_quant_tensors(*node), {}))) << node->name();
  }
}

struct Layout {
  int axes;
  std::int64_t groups;
  Granularity granularity;
};
class EveryLayout : public testing::TestWithParam<Layout> {};

TEST_P(EveryLayout, LearnsTheRoundingAndTheScalesOfItsWeights) {
  const auto [axes, groups, granularity] = GetParam();
  const auto data = images(axes);
  QuantConfig config = few_bits(3);
  config.weight.granularity = granularity;
  if (granularity == Granularity::kGroup) config.weight.group = 2;
  QuantizedModel model = prepare_by_platform(two_convolutions(axes, groups), "academic", config);
  calibrate(model, *data);
  for (const auto& [rate, mode] : {std::pair(0.0, "learned_hard_sigmoid"), std::pair(3e-3, "learned_hard_sigmoid"),
                                   std::pair(0.0, "straight_through"), std::pair(3e-3, "straight_through")}) {
    QuantizedModel learned = model;
    ReconstructOptions options = quick(rate);
    options.options.set("round_mode", std::string(mode));
    const ReconstructionRecord record = reconstruct(learned, *data, options);
    ASSERT_EQ(record.units.size(), 1U);
    EXPECT_LT(record.units[0].error_after, 0.9 * record.units[0].error_before);
    EXPECT_GT(record.units[0].moved, 0.01);
    EXPECT_EQ(record.units[0].note, "");
    expect_on_grids(learned);
    const Node& quantizer = *quantizer_in_front(*learned.graph.find_node("b"), 1);
    const at::Tensor before = model.graph.value(quantizer.input(1)->name()).tensor();
    EXPECT_EQ(quantizer.input(1)->tensor().sizes(), before.sizes());
    EXPECT_EQ(quantizer.input(1)->tensor().equal(before), rate == 0) << rate << ' ' << mode;
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, EveryLayout,
                         testing::Values(Layout{1, 1, Granularity::kChannel}, Layout{2, 1, Granularity::kTensor},
                                         Layout{2, 4, Granularity::kChannel}, Layout{2, 2, Granularity::kChannel},
                                         Layout{2, 1, Granularity::kGroup}, Layout{3, 1, Granularity::kChannel}));

// Down or up is all that a sigmoid can choose; what is added to a weight takes it further.
TEST(Rounding, StraightThroughReachesAnyCode) {
  const auto data = images(2);
  QuantizedModel model = prepare_by_platform(two_convolutions(2, 1), "academic", few_bits(4));
  calibrate(model, *data);
  const Node& quantizer = *quantizer_in_front(*model.graph.find_node("b"), 1);
  for (const bool straight_through : {false, true}) {
    const Rounding rounding(quantizer, "cpu", {straight_through, false});
    const at::Tensor nearest =
        fake_quant_of(quantizer)->quantize(quantizer.input(0)->tensor(), fake_quant_tensors(quantizer), {});
    if (straight_through) EXPECT_TRUE(rounding.hard().equal(nearest));
    rounding.alpha().detach().fill_(-3);
    const at::Tensor codes_away = ((nearest - rounding.hard()) / rounding.scale().reshape({-1, 1, 1, 1})).round();
    EXPECT_EQ(codes_away.max().item<int>(), straight_through ? 3 : 1);
    EXPECT_TRUE(rounding.soft().requires_grad());
    EXPECT_TRUE(rounding.soft().equal(rounding.hard()));  // a sigmoid is decided there
  }
}

TEST(Rounding, NothingEndsEarlyThatComesToRestInTheEnd) {
  const Options options = Options{{"early_stop", 1.0}, {"round_mode", std::string("straight_through")}};
  EXPECT_ERROR(check_rounding_options(options.checked(rounding_options(1, 10), "test")), "early_stop cannot end");
}

TEST(Rounding, ThePenaltysGradientIsThatOfItsFormula) {
  const at::Tensor alpha = at::linspace(-4, 4, 41).requires_grad_();
  const at::Tensor weight = at::full({}, 0.3), beta = at::full({}, 3.5);
  const at::Tensor h = (alpha.sigmoid() * 1.2 - 0.1).clamp(0, 1);
  (0.3 * (1 - (2 * h - 1).abs().pow(3.5))).sum().backward();
  EXPECT_TRUE(at::allclose(penalty_gradient(alpha.detach(), weight, beta), alpha.grad(), 1e-4, 1e-6));
}

// A scale that quantizers elsewhere read, too, stays; so do powers of two.
TEST(Rounding, ScalesThatOthersShareStay) {
  const auto data = images(2);
  QuantizedModel model = prepare_by_platform(two_convolutions(2, 1), "academic", few_bits(3));
  calibrate(model, *data);
  Node& a = *quantizer_in_front(*model.graph.find_node("a"), 1);
  Node& b = *quantizer_in_front(*model.graph.find_node("b"), 1);
  const at::Tensor scale = a.input(1)->tensor().clone();
  model.graph.set_input(b, 1, a.input(1));
  ReconstructOptions options = quick(3e-3);
  options.options.set("pattern", std::string("layer"));
  reconstruct(model, *data, options);
  EXPECT_TRUE(quantizer_in_front(*model.graph.find_node("a"), 1)->input(1)->tensor().equal(scale));
  EXPECT_TRUE(quantizer_in_front(*model.graph.find_node("b"), 1)->input(1)->tensor().equal(scale));
}

}  // namespace
}  // namespace quench
