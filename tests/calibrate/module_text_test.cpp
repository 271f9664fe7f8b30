#include "calibrate/module_text.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <sstream>

#include "quench/eager.h"

namespace quench {
namespace {

namespace nn = torch::nn;

struct QM : nn::Module {
  QM() {
    register_module("conv", nn::Conv2d(nn::Conv2dOptions(3, 16, 3).bias(false)));
    register_module("relu", nn::ReLU());
    register_module("bn", nn::BatchNorm2d(16));
    register_module("fc", nn::Linear(16, 4));
    register_module("relu2", nn::ReLU6());
    register_module("quant", std::make_shared<QuantStub>());
  }
  at::Tensor forward(const at::Tensor& x) { return x; }
};

std::string fused(const std::vector<std::string>& names, bool is_training) {
  ModuleText text = module_text(QM());
  fuse_text(text, names, is_training);
  return text.text();
}

const std::string kConv = "Conv2d(3, 16, kernel_size=(3, 3), stride=(1, 1), bias=False)";
const std::string kBn = "BatchNorm2d(16, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)";
const std::string kRest =
    "  (fc): Linear(in_features=16, out_features=4, bias=True)\n  (relu2): ReLU6()\n  (quant): QuantStub()\n)";

// The very words of the notebook's printout.
TEST(ModuleText, ReadsAsPyTorchs) {
  EXPECT_EQ(module_text(QM()).text(), "QM(\n  (conv): " + kConv + "\n  (relu): ReLU()\n  (bn): " + kBn + "\n" + kRest);
}

TEST(ModuleText, AFusedLayerHasItsPartsAndLeavesIdentities) {
  EXPECT_EQ(fused({"conv", "relu"}, false), "QM(\n  (conv): ConvReLU2d(\n    (0): " + kConv +
                                                "\n    (1): ReLU()\n  )\n  (relu): Identity()\n  (bn): " + kBn + "\n" +
                                                kRest);
}

TEST(ModuleText, BatchNormIsFoldedUnlessItTrains) {
  EXPECT_EQ(fused({"conv", "bn"}, false),
            "QM(\n  (conv): Conv2d(3, 16, kernel_size=(3, 3), stride=(1, 1))\n  (relu): "
            "ReLU()\n  (bn): Identity()\n" +
                kRest);
  EXPECT_EQ(fused({"conv", "bn", "relu"}, true),
            "QM(\n  (conv): ConvBnReLU2d(\n    (0): " + kConv + "\n    (1): " + kBn +
                "\n    (2): ReLU()\n  )\n  (relu): Identity()\n  (bn): Identity()\n" + kRest);
}

TEST(ModuleText, NamesOfFusedTypes) {
  const auto type = [](const std::vector<std::string>& names) {
    ModuleText text = module_text(QM());
    fuse_text(text, names, true);
    return text.find(names[0])->type;
  };
  EXPECT_EQ(type({"bn", "relu"}), "BNReLU2d");
  EXPECT_EQ(type({"fc", "relu2"}), "LinearReLU");
  EXPECT_EQ(type({"conv", "bn"}), "ConvBn2d");
  EXPECT_EQ(type({"fc", "bn"}), "LinearBn2d");
}

TEST(ModuleText, AModelPrintsWhatWasFused) {
  const auto module = std::make_shared<QM>();
  module->eval();
  const EagerModel model = fuse_modules(EagerModel(module, {at::zeros({1})}), {{"conv", "relu"}});
  std::ostringstream stream;
  stream << model;
  EXPECT_EQ(stream.str(), fused({"conv", "relu"}, false));
}

}  // namespace
}  // namespace quench
