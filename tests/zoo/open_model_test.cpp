#include "quench/open_model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "data/files.h"
#include "quench/executor.h"
#include "quench/state_dict.h"
#include "quench/zoo_net.h"
#include "support/expect_error.h"

namespace quench {
namespace {

TEST(OpenModel, IsTheZoosNetworkWithItsWeights) {
  const TempFolder folder;
  const auto net = make_zoo_model("small_cnn", {.num_classes = 7, .seed = 5});
  net->eval();
  write_safetensors(folder.path("w.safetensors"), state_of(*net));
  const Graph graph = open_model("zoo:small_cnn?num_classes=7&size=12&weights=" + folder.path("w.safetensors"));
  const at::Tensor x = at::rand({3, 1, 12, 12});
  const at::Tensor ours = Executor(graph).run({RtValue(x)})[0].tensor(), theirs = net->forward(x);
  EXPECT_TRUE(at::allclose(ours, theirs, 1e-5, 1e-6));
}

TEST(OpenModel, TakesTheNamesOfOpenMMLab) {
  const TempFolder folder;
  const auto net = make_zoo_model("resnet18", {.num_classes = 3, .seed = 5});
  TensorMap renamed;
  for (const auto& [name, tensor] : state_of(*net))
    renamed.emplace((name.starts_with("fc.") ? "head." : "backbone.") + name, tensor);
  write_safetensors(folder.path("w.safetensors"), renamed);
  const Graph graph = open_model("zoo:resnet18?num_classes=3&size=32&weights=" + folder.path("w.safetensors"));
  EXPECT_TRUE(at::equal(graph.value("fc.bias").tensor(), state_of(*net).at("fc.bias")));
}

TEST(OpenModel, NamesForFiles) {
  EXPECT_EQ(name_of_model("zoo:resnet18?weights=a/b.pth"), "resnet18");
  EXPECT_EQ(name_of_model("a/b.onnx"), "b");
  EXPECT_EQ(file_of_model("zoo:resnet18?weights=a/b.pth"), "a/b.pth");
  EXPECT_EQ(file_of_model("zoo:resnet18"), "");
  EXPECT_EQ(file_of_model("a/b.onnx"), "a/b.onnx");
}

TEST(OpenModel, SaysWhatIsWrong) {
  EXPECT_ERROR(open_model("zoo:resnet19"), "unknown zoo model 'resnet19'; did you mean 'resnet18'?");
  EXPECT_ERROR(open_model("zoo:resnet18?wieghts=x"), "did you mean 'weights'?");
  EXPECT_ERROR(open_model("zoo:resnet18?weights=none.pth"), "none.pth");
  EXPECT_ERROR(open_model("none.onnx"), "none.onnx");
}

}  // namespace
}  // namespace quench
