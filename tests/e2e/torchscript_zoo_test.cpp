// torchvision's networks and some smaller ones, scripted and traced by PyTorch, against PyTorch's own outputs.
// torchscript_zoo.py makes the files once, beside the program (2.3 GB).
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iomanip>
#include <iostream>

#include "quench/error.h"
#include "quench/executor.h"
#include "quench/import.h"
#include "quench/npz.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

fs::path cache_folder() {
  const char* program = std::getenv("QUENCH_PROGRAM");
  return (program ? fs::path(program).parent_path() : fs::temp_directory_path()) / "torchscript_zoo_1";
}

// Debian's Python has the packages that this is about.
bool has_torchvision() { return std::system("/usr/bin/python3 -c 'import torch, torchvision' 2> /dev/null") == 0; }

bool make_files(const fs::path& folder) {
  const std::string script = std::string(std::getenv("QUENCH_TEST_DATA")) + "/../e2e/torchscript_zoo.py";
  return std::system(("/usr/bin/python3 '" + script + "' '" + folder.string() + "'").c_str()) == 0;
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

void expect_same_network(const fs::path& folder, const std::string& name, const std::string& form) {
  std::map<std::string, RtValue> arrays = read_npz((folder / (name + ".npz")).string());
  const at::Tensor &image = arrays["input"].tensor(), &output = arrays["output"].tensor(),
                   &exact = arrays["exact"].tensor();
  ImportOptions options;
  Dims shape;
  for (const std::int64_t size : image.sizes()) shape.emplace_back(shape.empty() ? 1 : size);
  options.inputs = {TypeInfo::tensor(DType::kFloat, shape)};
  const Graph graph = import_model((folder / (name + "." + form + ".pt")).string(), options);
  Executor executor(graph);
  const at::Tensor ours = executor.run({RtValue(image)})[0].tensor();
  // PyTorch's float network and ours round the same sums in another order. How much such roundings come to in this
  // network is PyTorch's own distance from its network of doubles; sums in other blocks may round a few times worse.
  const double rounding = std::max(distance(output, exact), 0x1p-23 * exact.abs().max().item<double>());
  EXPECT_LE(distance(ours, exact), 8 * rounding);
  std::cout << std::left << std::setw(20) << name << std::setw(8) << form << std::right << std::setw(6)
            << graph.nodes().size() << std::setw(14) << distance(ours, output) << std::setw(14) << distance(ours, exact)
            << std::setw(14) << rounding << std::setw(12) << exact.abs().max().item<double>() << "\n";
}

TEST(TorchScriptZoo, OutputsAreThoseOfPyTorch) {
  const fs::path folder = cache_folder();
  if (!has_torchvision())
    GTEST_SKIP() << "needs Debian's python3-torch and python3-torchvision (tools/install-packages --torch)";
  ASSERT_TRUE(make_files(folder));
  std::cout << "network             form     nodes  from PyTorch  from doubles  PyTorch's own    largest\n";
  for (const char* name : {"resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small", "shufflenet_v2_x0_5",
                           "squeezenet1_1", "densenet121", "regnet_y_400mf", "efficientnet_b0", "vgg11_bn", "googlenet",
                           "vit_b_16", "gated", "self_attention", "encoder_layer", "encoder_layer_gelu"})
    for (const char* form : {"script", "trace"}) {
      if (!fs::exists(folder / concat(name, ".", form, ".pt"))) continue;  // "gated" has no trace
      SCOPED_TRACE(std::string(name) + ", " + form);
      try {
        expect_same_network(folder, name, form);
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
}

}  // namespace
}  // namespace quench
