#include "quantize/preserve.h"

#include <gtest/gtest.h>

#include "calibrate/small_graph.h"
#include "quench/convert.h"
#include "quench/deploy.h"
#include "quench/quantize.h"
#include "support/expect_error.h"

namespace quench {
namespace {

const TensorData& items() {
  static const TensorData data(whole({8, 3, 8, 8}, 5, 6));
  return data;
}

JobConfig job(const std::vector<std::string>& preserve) {
  JobConfig config;
  config.quant.platform = "onnxruntime";
  config.preserve = preserve;
  return config;
}

TEST(PreservedMetadata, GoesThroughEveryStageIntoEveryFile) {
  Graph graph = small_graph();
  graph.metadata["num_classes"] = "10";
  JobConfig config = job({"num_classes", "backbone.strides"});
  config.metadata = {{"backbone.strides", "4,8,16"}, {"leaf_module", "not to be shipped"}};
  const Quantized result = quantize(graph, items(), config);
  const auto expect_kept = [](const Graph& made) {
    EXPECT_EQ(made.metadata.at("num_classes"), "10");
    EXPECT_EQ(made.metadata.at("backbone.strides"), "4,8,16");
    EXPECT_FALSE(made.metadata.contains("leaf_module"));
  };
  expect_kept(with_plan_text(result.model));
  expect_kept(convert(result.model).graph);
  int models = 0;
  for (const DeployFile& file : deploy(result.model, {.name = "net"}).files) {
    if (!file.is_model()) continue;
    expect_kept(file.model);
    ++models;
  }
  EXPECT_GE(models, 2);
}

TEST(PreservedMetadata, ThatNobodyGaveIsAnErrorThatNamesTheHook) {
  Graph graph = small_graph();
  graph.metadata["num_classes"] = "10";
  EXPECT_ERROR(quantize(graph, items(), job({"num_class"})), "'num_class' is to be preserved",
               "did you mean 'num_classes'?", "Graph::metadata", "'metadata' of the config", "'preserve_attr'");
  graph.metadata = {{"quench.form", "x"}};
  EXPECT_ERROR(preserve_metadata(graph, job({"forward_train"})),
               "the model's metadata has no such text. A graph has no attributes or methods of a Python module");
}

}  // namespace
}  // namespace quench
