#include "calibrate/observing.h"

#include <gtest/gtest.h>

#include "calibrate/float_run.h"
#include "calibrate/small_graph.h"
#include "quench/prepare.h"
#include "support/expect_error.h"

namespace quench {
namespace {

TEST(Observing, ALoopOfOnesOwnFindsTheSame) {
  QuantizedModel model = quantized_model("histogram"), other = quantized_model("histogram");
  Graph &graph = model.graph, &fast = other.graph;
  Observing observing(model), fast_observing(other);
  set_state(graph, Role::kActivation, {.observe = true});
  Executor executor(graph);
  observing.attach(executor);
  FloatRun network(fast, watches_of(fast_observing), "cpu");
  for (int i = 0; i < 3; ++i) {
    const at::Tensor x = whole({2 + i, 3, 8, 8}, i, 6);
    executor.run({RtValue(x)});
    network.run({{fast.inputs()[0]->name(), RtValue(x)}});
  }
  observing.observe_constants(graph);
  observing.take_over(model);
  fast_observing.observe_constants(fast);
  fast_observing.take_over(other);
  EXPECT_EQ(to_text(graph), to_text(fast));
}

TEST(Observing, NamesTheQuantizersThatSawNothing) {
  QuantizedModel model = quantized_model();
  const std::string before = to_text(model.graph);
  Observing observing(model);
  observing.observe_constants(model.graph);
  try {
    observing.take_over(model);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'x', 'relu1', 'relu2'"), std::string::npos) << error.what();
  }
  EXPECT_EQ(to_text(model.graph), before);
  EXPECT_EQ(model.stage, ModelStage::kPrepared);
}

TEST(Observing, AFollowerWithoutItsLeaderIsRefused) {
  QuantizedModel model = quantized_model();
  model.plan.entries[2].shared_with = "gone";
  EXPECT_ERROR(Observing{model}, "'relu1.fq'", "share the scale of 'gone'");
}

TEST(WithoutQuantizers, IsTheFloatNetwork) {
  const Graph plain = without_quantizers(quantized_model("min_max", true).graph);
  Graph expected = small_graph();
  EXPECT_EQ(plain.nodes().size(), expected.nodes().size());
  const at::Tensor x = whole({2, 3, 8, 8}, 1, 6);
  EXPECT_TRUE(Executor(plain).run({RtValue(x)})[0].tensor().equal(Executor(expected).run({RtValue(x)})[0].tensor()));
}

}  // namespace
}  // namespace quench
