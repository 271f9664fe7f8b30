// The zoo against the outside: weights and outputs that PyTorch itself wrote,
// and an ONNX model's own weights through the zoo's module.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/zip_archive.h"
#include "quench/executor.h"
#include "quench/import.h"
#include "quench/state_dict.h"
#include "quench/zoo_net.h"
#include "support/data_file.h"
#include "zoo/torch_bytes.h"

namespace quench {
namespace {

std::string read_member(const ZipArchive& zip, const std::string& name) {
  std::string bytes(zip.size(name), '\0');
  zip.read(name, bytes.data(), bytes.size());
  return bytes;
}

at::Tensor floats_at_the_end_of(const std::string& bytes, const std::vector<std::int64_t>& shape) {
  const at::Tensor tensor = at::empty(shape, at::kFloat);
  std::memcpy(tensor.data_ptr(), bytes.data() + bytes.size() - tensor.nbytes(), tensor.nbytes());
  return tensor;
}

// An archive of torch.export lists its weights in a JSON file beside the raw
// bytes.
TensorMap weights_of_archive(const ZipArchive& zip, const std::string& prefix) {
  const auto config = nlohmann::json::parse(read_member(zip, prefix + "model_weights_config.json"));
  TensorMap weights;
  for (const auto& [name, item] : config.at("config").items()) {
    std::vector<std::int64_t> shape;
    for (const auto& size : item.at("tensor_meta").at("sizes")) shape.push_back(size.at("as_int").get<std::int64_t>());
    weights[name] = floats_at_the_end_of(read_member(zip, prefix + item.at("path_name").get<std::string>()), shape);
  }
  return weights;
}

TEST(ZooReference, TinyVitGivesWhatPyTorchGives) {
  const std::string archive = data_file("pt2/tiny_vit.pt2"), arrays = data_file("pt2/tiny_vit.npz");
  if (archive.empty() || arrays.empty()) GTEST_SKIP() << "pt2/tiny_vit.pt2 is not in the data folder (QUENCH_DATA)";
  auto net = make_zoo_model("tiny_vit");
  load_state(*net, weights_of_archive(ZipArchive(archive), "tiny_vit/data/weights/"));
  set_training(*net, false);
  const ZipArchive npz(arrays);
  const at::NoGradGuard no_grad;
  const at::Tensor y = zoo_forward(*net, floats_at_the_end_of(read_member(npz, "input.npy"), {3, 3, 96, 96}));
  const at::Tensor expected = floats_at_the_end_of(read_member(npz, "output.npy"), {3, 10});
  EXPECT_TRUE(at::allclose(y, expected, 1e-4, 1e-5)) << (y - expected).abs().max().item<float>();
}

// Written by Python's torch.save, inside the archive: a tuple of example
// inputs, no state dict.
TEST(ZooReference, AFileOfPythonsTorchSaveIsUnderstood) {
  const std::string archive = data_file("pt2/tiny_vit.pt2");
  if (archive.empty()) GTEST_SKIP() << "pt2/tiny_vit.pt2 is not in the data folder (QUENCH_DATA)";
  const TempFile file(read_member(ZipArchive(archive), "tiny_vit/data/sample_inputs/model.pt"));
  try {
    read_state_dict(file.path());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "it holds a tuple; a state dict (a dict of "
              "names and tensors) was expected");
  }
}

// ONNX's BatchNormalization calls its inputs scale, bias, mean and var.
std::string torch_name(const std::string& name) {
  const std::pair<const char*, const char*> endings[] = {
      {".scale", ".weight"}, {".mean", ".running_mean"}, {".var", ".running_var"}};
  for (const auto& [onnx, torch] : endings) {
    if (name.ends_with(onnx)) return name.substr(0, name.size() - std::string(onnx).size()) + torch;
  }
  return name;
}

void compare_with_onnx(const std::string& model, const std::string& file) {
  const std::string path = data_file(file);
  if (path.empty()) GTEST_SKIP() << file << " is not in the data folder (QUENCH_DATA)";
  const Graph graph = import_onnx(path);
  auto net = make_zoo_model(model);
  const TensorMap own = state_of(*net);
  TensorMap weights;
  for (const Value* constant : graph.constants()) {
    if (own.contains(torch_name(constant->name()))) weights[torch_name(constant->name())] = constant->tensor();
  }
  load_state(*net,
             weights);  // strict: a parameter without a counterpart would be an error
  set_training(*net, false);
  const at::NoGradGuard no_grad;
  at::manual_seed(1);
  const at::Tensor x = at::randn({4, 3, 32, 32});
  const at::Tensor expected = Executor(graph).run({x})[0].tensor();
  const at::Tensor y = zoo_forward(*net, x);
  EXPECT_GT(expected.abs().max().item<float>(), 1.0F);
  EXPECT_TRUE(at::allclose(y, expected, 1e-4, 1e-4)) << (y - expected).abs().max().item<float>();
}

TEST(ZooReference, ResNet20WithTheOnnxFilesWeightsGivesItsOutputs) {
  compare_with_onnx("resnet20_cifar", "models/resnet20_cifar10_bn.onnx");
}

TEST(ZooReference, ResNet56WithTheOnnxFilesWeightsGivesItsOutputs) {
  compare_with_onnx("resnet56_cifar", "models/resnet56_cifar10_bn.onnx");
}

}  // namespace
}  // namespace quench
