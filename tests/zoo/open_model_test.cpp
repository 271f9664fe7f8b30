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

// torchvision's file has them, for training.
TEST(OpenModel, GoogLeNetIgnoresItsAuxiliaryClassifiers) {
  const TempFolder folder;
  TensorMap weights = state_of(*make_zoo_model("googlenet", {.num_classes = 3, .seed = 5}));
  const at::Tensor bias = weights.at("fc.bias").detach().clone();
  weights.emplace("aux1.fc2.bias", at::zeros({3}));
  weights.emplace("aux2.conv.conv.weight", at::zeros({128, 528, 1, 1}));
  const std::string path = folder.path("w.safetensors");
  write_safetensors(path, weights);
  const Graph graph = open_model("zoo:googlenet?num_classes=3&size=32&weights=" + path);
  EXPECT_TRUE(at::equal(graph.value("fc.bias").tensor(), bias));
  const auto net = make_quantizable_model("googlenet", path, {.num_classes = 3});
  EXPECT_TRUE(at::equal(state_of(*net).at("fc.bias"), bias));
  weights.emplace("aux3.fc2.bias", at::zeros({3}));
  write_safetensors(path, weights);
  EXPECT_ERROR(make_quantizable_model("googlenet", path, {.num_classes = 3}), "unexpected 'aux3.fc2.bias'");
  TensorMap other = state_of(*make_zoo_model("small_cnn"));
  other.emplace("aux1.fc2.bias", at::zeros({3}));
  write_safetensors(path, other);
  EXPECT_ERROR(open_model("zoo:small_cnn?weights=" + path), "unexpected 'aux1.fc2.bias'");
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
  for (const char* nameless : {"zoo:", "zoo:?weights=a.pth"}) {
    EXPECT_ERROR(open_model(nameless), "has no name; write zoo:NAME, or zoo:NAME?weights=FILE");
    EXPECT_ERROR(name_of_model(nameless), "has no name");
  }
}

}  // namespace
}  // namespace quench
