// The commands on a TorchScript file, whose shapes a config or an option gives.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <fstream>

#include "cli/program.h"
#include "quench/import.h"
#include "quench/npz.h"

namespace quench {
namespace {

// A layer in front of a branch that depends on data.
std::string script(const TemporaryFolder& folder) {
  at::manual_seed(2);
  torch::jit::Module net("__torch__.Net"), conv("__torch__.Conv");
  conv.register_parameter("weight", at::randn({4, 3, 3, 3}), false);
  net.register_attribute("training", c10::BoolType::get(), true);
  net.register_module("conv", conv);
  net.define(R"(
def forward(self, x):
  y = torch.relu(torch.conv2d(x, self.conv.weight))
  if bool(x.sum() > 0):
    y = y * 2
  return y.mean([2, 3])
)");
  net.save(folder.path("net.pt"));
  return folder.path("net.pt");
}

TEST(TorchScriptCommands, InspectWantsTheShape) {
  const TemporaryFolder folder;
  const std::string path = script(folder);
  const Outcome without = quench_run({"inspect", path});
  EXPECT_EQ(without.code, 1);
  EXPECT_NE(without.err.find("--input-shape"), std::string::npos) << without.err;
  const Outcome with = quench_run({"inspect", path, "--input-shape", "1,3,8,8"});
  EXPECT_EQ(with.code, 0) << with.err;
  EXPECT_NE(with.out.find("If"), std::string::npos) << with.out;
  EXPECT_EQ(quench_run({"inspect", path, "--input-shape", "1,x"}).code, 1);
}

TEST(TorchScriptCommands, QuantizeTakesTheShapeFromTheConfig) {
  const TemporaryFolder folder;
  const std::string path = script(folder);
  write_npz(folder.path("calib.npz"), {{"x", RtValue(at::randn({16, 3, 8, 8}))}});
  std::ofstream(folder.path("job.yaml")) << "model: " << path << "\ninput_shape: [1, 3, 8, 8]\nplatform: onnxruntime\n"
                                         << "data: {calib: \"npz:" << folder.path("calib.npz") << "?input=x\"}\n"
                                         << "output: " << folder.path("out") << "\n";
  const Outcome outcome = quench_run({"quantize", "--config", folder.path("job.yaml")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Graph graph = import_model(folder.path("out/net.quench.onnx"));
  EXPECT_TRUE(graph.find_value("conv.weight"));
  EXPECT_EQ(quench_run({"run", folder.path("out/net.quench.onnx"), "--random", "--dim", "N=3"}).code, 0);
}

}  // namespace
}  // namespace quench
