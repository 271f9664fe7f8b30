#include "cli/demo.h"
#include "cli/models.h"
#include "cli/program.h"

namespace quench {
namespace {

TEST(Inspect, ShowsNodesAndTotals) {
  const TemporaryFolder folder;
  export_onnx(small_classifier(), folder.path("m.onnx"));
  const Outcome outcome = quench_run({"inspect", folder.path("m.onnx")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part : {"input     x: float[N, 3, 32, 32]", "conv", "float[N, 10, 32, 32]", "parameters  40",
                           "MACs        30,720 (at N=1)", "Conv 1, Flatten 1, GlobalAveragePool 1"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in\n" << outcome.out;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("model ", 0) != 0) {
      EXPECT_LE(line.size(), 140U) << line;
    }
  }
}

TEST(Inspect, PrintsOneJsonObject) {
  const TemporaryFolder folder;
  export_onnx(small_classifier(), folder.path("m.onnx"));
  const nlohmann::json json = quench_run({"inspect", folder.path("m.onnx"), "--json", "--dim", "N=3"}).json();
  EXPECT_EQ(json.at("parameters"), 40);
  EXPECT_EQ(json.at("macs"), 3 * 30720);
  EXPECT_EQ(json.at("node_count"), 3);
  EXPECT_EQ(json.at("inputs")[0].at("type"), "float[N, 3, 32, 32]");
  EXPECT_EQ(json.at("nodes")[0].at("op"), "Conv");
  EXPECT_TRUE(json.at("cleaned").get<bool>());
}

TEST(Inspect, PrintsTheTextFormThatCanBeReadBack) {
  const TemporaryFolder folder;
  export_onnx(small_classifier(), folder.path("m.onnx"));
  const Outcome brief = quench_run({"inspect", folder.path("m.onnx"), "--text"});
  EXPECT_NE(brief.out.find("graph \"small\" {"), std::string::npos) << brief.out;
  const Outcome whole = quench_run({"inspect", folder.path("m.onnx"), "--text", "--data"});
  EXPECT_EQ(to_text(parse_graph(whole.out)), whole.out);
  EXPECT_EQ(quench_run({"inspect", folder.path("m.onnx"), "--text", "--json"}).code, 1);
}

TEST(Inspect, CleansUpUnlessAskedNotTo) {
  const TemporaryFolder folder;
  Graph graph = small_classifier();
  Node& same = graph.add("Identity", "same", {graph.outputs()[0]});
  graph.set_output(0, same.output());
  export_onnx(graph, folder.path("m.onnx"));
  EXPECT_EQ(quench_run({"inspect", folder.path("m.onnx"), "--json"}).json().at("node_count"), 3);
  EXPECT_EQ(quench_run({"inspect", folder.path("m.onnx"), "--json", "--raw"}).json().at("node_count"), 4);
}

TEST(Inspect, NamesFilesThatAreNoModels) {
  const TemporaryFolder folder;
  const Outcome missing = quench_run({"inspect", folder.path("none.onnx")});
  EXPECT_EQ(missing.code, 1);
  EXPECT_NE(missing.err.find("none.onnx"), std::string::npos) << missing.err;
  std::ofstream(folder.path("junk.onnx")) << "this is no model";
  const Outcome junk = quench_run({"inspect", folder.path("junk.onnx")});
  EXPECT_EQ(junk.code, 1);
  EXPECT_NE(junk.err.find("junk.onnx"), std::string::npos) << junk.err;
  const std::string folder_name = folder.path("out");
  std::filesystem::create_directory(folder_name);
  expect_refused(quench_run({"inspect", folder_name}), "'" + folder_name + "' is a folder, not a model file\n");
  std::ofstream(folder.path("out/m.quench.onnx")) << "a model";
  expect_refused(quench_run({"inspect", folder_name}), "did you mean '" + folder.path("out/m.quench.onnx") + "'?");
}

}  // namespace
}  // namespace quench
