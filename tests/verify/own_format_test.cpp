// A runtime inside the process, with files of its own: the model without quantizers, and a scale per tensor beside it.
#include <gtest/gtest.h>

#include <fstream>

#include "deploy/ranged_graph.h"
#include "quench/platform.h"
#include "quench/side_file.h"
#include "support/expect_error.h"
#include "verify/deployed_demo.h"

namespace quench {
namespace {

float table_error = 0.0F;  // added to the scales that the runtime reads

Graph read_table(const std::string& file) {
  Graph graph = import_model(file);
  std::ifstream in(file.substr(0, file.size() - 5) + ".txt");
  std::string name;
  for (float scale = 0; in >> name >> scale;) quantize(graph, name, "int8 symmetric tensor", {{scale}, {0}});
  return graph;
}

NamedValues run_table(const std::string& file, const NamedValues& inputs) {
  Graph graph = read_table(file);
  for (const Node* node : quantizers_of(graph)) {
    QParams params = qparams_of(*node);
    params.scale[0] += table_error;
    set_qparams(*node, params);
  }
  return Executor(graph).run(inputs, {"y"});
}

void write_table(const DeployJob& job, Deployment& deployment) {
  const StrippedModel model = strip_quantizers(job.graph);
  std::vector<TextLine> lines;
  for (const StrippedTensor& tensor : model.tensors)
    lines.emplace_back(tensor.name, number_text(tensor.type.params.scale[0]));
  deployment.files.push_back(model_file(job, "_table.onnx", model.graph));
  deployment.files.push_back(text_file(job, "_table.txt", lines, " ", "scales"));
}

Platform table_platform() {
  Platform platform = find_platform("tensorrt");
  platform.aliases = {};
  platform.product = "test_table";
  return platform;
}

QUENCH_REGISTER_ITEM(RuntimeEntry, "test_table", "of a test",
                     {.script = "", .rule = "float", .run = run_table, .read = read_table, .ending = "_table.onnx"})
QUENCH_REGISTER_EXPORTER("test_table", write_table, "of a test")

class OwnFormat : public testing::Test {
 protected:
  OwnFormat() {
    Graph graph = plain_net();
    for (const char* name : {"x", "w", "relu", "flat", "v"})
      quantize(graph, name, "int8 symmetric tensor", {{0.0625F}, {0}});
    // Platforms are looked up by name: registered here, where the one that it extends exists.
    if (!PlatformRegistry::instance().find("test_table"))
      PlatformRegistry::instance().add("test_table", table_platform(), "of a test", __FILE__);
    const Graph file = planned(graph, "test_table");
    export_onnx(file, folder_.path("net.quench.onnx"));
    write_deployment(deployed(file), folder_.path("files"));
    options_.runtime = "test_table";
    at::manual_seed(1);
  }

  VerifyResult verified() const {
    const std::vector<std::string> files = deployed_files(folder_.path("files"), "test_table");
    EXPECT_EQ(files.size(), 1U);
    return verify(files.at(0), data_, options_);
  }

  TemporaryFolder folder_;
  TensorData data_{whole({40, 3, 7, 7}, 1, 3)};
  VerifyOptions options_;
};

TEST_F(OwnFormat, IsComparedWithItsSimulationAndTheModel) {
  const VerifyResult result = verified();
  EXPECT_TRUE(result.passed()) << result.failures()[0];
  EXPECT_EQ(result.items, 40);
  EXPECT_EQ(result.outputs.at(0).largest, 0.0);
  EXPECT_EQ(result.model_outputs.at(0).largest, 0.0);
  EXPECT_EQ(result.quantizers, 5);
  EXPECT_TRUE(result.quantizer_differences.empty());
}

TEST_F(OwnFormat, AWrongRuntimeIsFound) {
  table_error = 0.01F;
  const VerifyResult result = verified();
  table_error = 0.0F;
  EXPECT_FALSE(result.passed());
}

TEST_F(OwnFormat, SaysWhatItCannotDo) {
  options_.layers = true;
  EXPECT_ERROR(verified(), "runtime 'test_table' does not show the codes of its layers");
  EXPECT_ERROR(deployed_files(folder_.path("."), "test_table"), "there is no deployed model", "N_table.onnx");
}

}  // namespace
}  // namespace quench
