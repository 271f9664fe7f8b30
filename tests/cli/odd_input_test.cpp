// Models, names and folders that are hardly meant: an error that says so, or the same as ever.
#include <ATen/ATen.h>

#include <cstdlib>

#include "cli/demo.h"
#include "cli/models.h"
#include "cli/program.h"
#include "quench/npz.h"

namespace quench {
namespace {

TEST(OddInput, NothingAtAll) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("zero.onnx")).close();
  expect_refused(quench_run({"inspect", folder.path("zero.onnx")}), "the file is empty");
  expect_refused(quench_run({"inspect", ""}), "the name of the model file is empty");
}

// What it said was that there is nothing to quantize, and not why.
TEST(OddInput, ANetworkOfDoubles) {
  const TemporaryFolder folder;
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kDouble, {Dim::symbol("N"), 4}));
  Value& w = graph.add_constant("w", at::ones({4, 5}, at::kDouble));
  graph.add_output(graph.add("MatMul", "y", {&x, &w}).output());
  export_onnx(graph, folder.path("double.onnx"));
  write_npz(folder.path("x.npz"), {{"x", RtValue(at::rand({3, 4}, at::kDouble))}});
  expect_refused(quench_run({"quantize", folder.path("double.onnx"), "--platform", "onnxruntime", "--calib",
                             "npz:" + folder.path("x.npz"), "-o", folder.path("out")}),
                 "its input 'x' is double");
}

TEST(OddInput, AWeightThatIsNoNumberIsTheModels) {
  const TemporaryFolder folder;
  Graph graph = small_classifier();
  graph.set_tensor(graph.value("w"), at::full({10, 3, 1, 1}, std::nan("")));
  export_onnx(graph, folder.path("nan.onnx"));
  write_npz(folder.path("x.npz"), {{"x", RtValue(at::rand({3, 3, 32, 32}))}});
  expect_refused(quench_run({"quantize", folder.path("nan.onnx"), "--platform", "onnxruntime", "--calib",
                             "npz:" + folder.path("x.npz"), "-o", folder.path("out")}),
                 "'w' is the model's own, not of the data");
}

// A dry run took metrics that the run then refused.
TEST(OddInput, ADryRunChecksMetrics) {
  expect_refused(quench_run({"quantize", demo_model(), "--platform", "onnxruntime", "--calib", demo_data(0, 4),
                             "--dry-run", "--eval", demo_data(0, 4), "--metric", "foo"}),
                 "unknown metric 'foo'");
}

TEST(OddInput, NoFolderForTemporaryFiles) {
  const TemporaryFolder folder, said;
  ASSERT_EQ(quench_run({"quantize", demo_model(), "--platform", "onnxruntime", "--calib", demo_data(0, 4), "--profile",
                        "0", "-o", folder.path("out")})
                .code,
            0);
  const std::string deployed = folder.path("out/deploy/fashion_cnn_qdq.onnx");
  EXPECT_EQ(quench_run({"eval", deployed, "--data", demo_data(0, 4)}).code, 0) << "a plan, but no quantizers";
  expect_refused(quench_run({"plan", folder.path("out/fashion_cnn.quench.onnx"), "--platform", "onnxruntime"}),
                 "there is nothing to plan; take the float model");
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before ? before : "";
  ::setenv("TMPDIR", "/there/is/no/such/folder", 1);
  const pid_t child =
      start_program({"verify", deployed, "--data", demo_data(0, 4), "--runner", "/bin/true", "--model", "none"}, said);
  before ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
  expect_refused(wait_for(child, said), "(TMPDIR names another)");
}

}  // namespace
}  // namespace quench
