#include <gtest/gtest.h>

#include "platforms/gated_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

TEST(Openvino, CountsOfTheReference) {
  EXPECT_EQ(counts("openvino", "resnet18"), (Counts{30, 21}));
  EXPECT_EQ(counts("openvino", "mobilenet_v2"), (Counts{64, 53}));
}

TEST(Openvino, PlansASmallGraph) {
  EXPECT_EQ(small_plan("openvino"),
            "x: int8 symmetric tensor\n"
            "w1: int7 symmetric channel:0\n"
            "relu: uint8 symmetric tensor\n"
            "w2: int7 symmetric channel:0\n"
            "mul: int8 symmetric tensor\n"
            "sum: int8 symmetric tensor\n"
            "gap: int8 symmetric tensor\n"
            "w3: int7 symmetric channel:0\n");
}

int count_of_unsigned(const QuantConfig& config, const std::string& model) {
  int count = 0;
  for (const PlanEntry& entry : make_plan(zoo_graph(model), config).entries)
    count += entry.role == Role::kActivation && !entry.scheme.is_signed();
  return count;
}

// The reference knows a Relu only; ours knows ReLU6, and what it passes through (D9).
TEST(Openvino, Signs) {
  QuantConfig config = settings_for("openvino");
  EXPECT_EQ(count_of_unsigned(config, "resnet18"), 18);
  EXPECT_EQ(count_of_unsigned(config, "mobilenet_v2"), 36);
  config.parity = true;
  EXPECT_EQ(count_of_unsigned(config, "resnet18"), 18);
  EXPECT_EQ(count_of_unsigned(config, "mobilenet_v2"), 0);
  EXPECT_EQ(make_plan(gated_graph(), config).find("relu")->scheme.text(), "uint8 symmetric tensor");
}

TEST(Openvino, WeightsHaveSevenBits) {
  QuantConfig config = settings_for("openvino");
  const QScheme scheme = make_plan(gated_graph(), config).find("w1")->scheme;
  EXPECT_EQ(scheme.qmin(), -64);
  EXPECT_EQ(scheme.qmax(), 63);
  config.weight.bits = 8;  // for processors with VNNI; the reference has 7 whatever is asked for
  EXPECT_EQ(make_plan(gated_graph(), config).find("w1")->scheme.text(), "int8 symmetric channel:0");
  config.parity = true;
  EXPECT_EQ(make_plan(gated_graph(), config).find("w1")->scheme.text(), "int7 symmetric channel:0");
  config.weight.symmetric = false;
  EXPECT_EQ(make_plan(gated_graph(), config).find("w1")->scheme.text(), "uint7 affine channel:0");
}

TEST(Openvino, AcademicModeFusesNothing) {
  QuantConfig config = settings_for("openvino");
  config.platform_options.set("academic_mode", 1.0);
  EXPECT_EQ(small_plan(config),
            "x: int8 symmetric tensor\n"
            "w1: int7 symmetric channel:0 narrow\n"
            "relu: uint8 symmetric tensor\n"
            "w2: int7 symmetric channel:0 narrow\n"
            "sum: int8 symmetric tensor\n"
            "w3: int7 symmetric channel:0 narrow\n");
  EXPECT_TRUE(groups_of(find_platform("openvino"), config).empty());
}

TEST(Openvino, ConcatAndGraphOutputsStayFloat) {
  Graph graph = gated_graph();
  Value& pool = graph.value("pool");
  Node& cat = graph.add("Concat", "cat", {&graph.value("relu"), &graph.value("conv1")});
  cat.attrs["axis"] = std::int64_t{1};
  Node& small = graph.add("GlobalAveragePool", "small", {&cat.output()});
  graph.add_output(small.output());
  graph.add_output(pool);
  infer_shapes(graph);
  const QuantPlan plan = make_plan(graph, settings_for("openvino"));
  EXPECT_EQ(explain(plan, "cat"), "'cat' stays float: a Concat: its operands are quantized");
  EXPECT_EQ(explain(plan, "small"), "'small' stays float: an output of the network");
  EXPECT_EQ(explain(plan, "pool"), "'pool' stays float: an output of the network");
}

TEST(Openvino, RefusesChannelsOfActivations) {
  QuantConfig config = settings_for("openvino");
  config.activation.granularity = Granularity::kChannel;
  EXPECT_REFUSES(config, "cannot run per-channel activations (per tensor only)");
}

}  // namespace
}  // namespace quench
