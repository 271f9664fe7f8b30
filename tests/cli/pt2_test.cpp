// The commands on an archive of torch.export.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "quench/import.h"
#include "quench/npz.h"

namespace quench {
namespace {

std::string archive(const std::string& name) { return std::string(std::getenv("QUENCH_TEST_DATA")) + "/pt2/" + name; }

TEST(Pt2Commands, InspectShowsModulesAndWhatIsNotSupported) {
  const Outcome outcome = quench_run({"inspect", archive("conv_net.pt2"), "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\"features.0\""), std::string::npos) << outcome.out;
  const Outcome other = quench_run({"inspect", archive("unsupported.pt2")});
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_NE(other.out.find("aten.linalg_cholesky.default"), std::string::npos) << other.out;
  EXPECT_EQ(quench_run({"run", archive("unsupported.pt2"), "--random"}).code, 1);
}

TEST(Pt2Commands, RunGivesWhatTorchGave) {
  const TemporaryFolder folder;
  const auto arrays = read_npz(archive("conv_net.npz"));
  write_npz(folder.path("x.npz"), {{"x", arrays.at("other_in0")}});
  const Outcome outcome =
      quench_run({"run", archive("conv_net.pt2"), "--inputs", folder.path("x.npz"), "-o", folder.path("y.npz")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const at::Tensor actual = read_npz(folder.path("y.npz")).at("fc").tensor();
  const at::Tensor expected = arrays.at("other_out0").tensor();
  // Ten layers, each with a few roundings of 2^-24 of its values.
  EXPECT_TRUE(at::allclose(actual, expected, 1e-5, 1e-5)) << (actual - expected).abs().max();
}

TEST(Pt2Commands, QuantizeGivesAModelThatRuns) {
  const TemporaryFolder folder;
  const Outcome outcome = quench_run({"quantize", archive("conv_net.pt2"), "--platform", "onnxruntime", "--calib",
                                      "npz:" + archive("conv_net.npz") + "?input=in0", "-o", folder.path("out")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Graph graph = import_model(folder.path("out/conv_net.quench.onnx"));
  EXPECT_TRUE(graph.inputs().at(0)->dims().at(0).is_symbol());
  EXPECT_TRUE(graph.find_value("features.0.weight"));
  EXPECT_EQ(quench_run({"run", folder.path("out/conv_net.quench.onnx"), "--random", "--dim", "s77=3"}).code, 0);
}

}  // namespace
}  // namespace quench
