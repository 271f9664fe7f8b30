// Modules without tensors, found by where they stand.
#include "calibrate/module_of_node.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/conv.h>

#include "quench/eager.h"
#include "quench/zoo_net.h"

namespace quench {
namespace {

using Names = std::vector<std::string>;

// The modules of all nodes of one operator, in order of the graph; layers are named as a trace names them.
Names modules_of(const EagerModel& model, const std::string& op) {
  const Graph graph = model.trace();
  ModuleOfNode modules(model.modules(), graph);
  for (const auto& node : graph.nodes())
    if (node->op() == "Conv" || node->op() == "Gemm") modules.name(*node, node->name());
  Names names;
  for (const auto& node : graph.nodes())
    if (node->op() == op) names.push_back(modules.of(*node));
  return names;
}

Names registered(const EagerModel& model, const std::string& type, const std::string& end = "") {
  Names names;
  for (const ModuleInfo& module : model.modules())
    if (module.type == type && module.name.ends_with(end)) names.push_back(module.name);
  return names;
}

TEST(ModuleOfNode, OfEveryAddMulAndHardswishOfMobileNetV3) {
  const auto net = make_zoo_model("mobilenet_v3_small", {.num_classes = 5, .quantizable = true});
  const EagerModel model(net, {at::rand({1, 3, 64, 64})});
  EXPECT_EQ(modules_of(model, "HardSwish"), registered(model, "Hardswish"));
  EXPECT_EQ(modules_of(model, "Mul"), registered(model, "FloatFunctional", "skip_mul"));
  EXPECT_EQ(modules_of(model, "quench.QuantStub"), Names{"quant"});
  // The blocks of stride 1 that keep their channels.
  EXPECT_EQ(modules_of(model, "Add"), (Names{"features.3.skip_add", "features.5.skip_add", "features.6.skip_add",
                                             "features.8.skip_add", "features.10.skip_add", "features.11.skip_add"}));
}

TEST(ModuleOfNode, OfConcatenations) {
  const auto net = make_zoo_model("shufflenet_v2_x0_5", {.num_classes = 5, .quantizable = true});
  const EagerModel model(net, {at::rand({1, 3, 64, 64})});
  EXPECT_EQ(modules_of(model, "Concat"), registered(model, "FloatFunctional"));
}

// Of products and sums those of two tensors: add_scalar has no scale in torch.
TEST(ModuleOfNode, OfMatmulAndNotOfScalars) {
  struct Product : torch::nn::Module {
    at::Tensor forward(const at::Tensor& x) {
      const at::Tensor y = conv(x);
      return product->matmul(product->add_scalar(y, 1), product->mul_scalar(x, 2));
    }
    torch::nn::Conv2d conv = register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(2, 2, 1)));
    std::shared_ptr<FloatFunctional> product = register_module("product", std::make_shared<FloatFunctional>());
  };
  const EagerModel model(std::make_shared<Product>(), {at::rand({1, 2, 4, 4})});
  EXPECT_EQ(modules_of(model, "MatMul"), Names{"product"});
  EXPECT_EQ(modules_of(model, "Add"), Names{""});
  EXPECT_EQ(modules_of(model, "Mul"), Names{""});
}

// A node too many, or a module: the names of others could be one off.
TEST(ModuleOfNode, IsCertainOfTheOnlyOneInItsPlaceWhereNothingIsLeftOver) {
  struct Sums : torch::nn::Module {
    at::Tensor forward(const at::Tensor& x) {
      const at::Tensor y = inner->add(conv(x), x);
      return at::add(y, conv2(y));
    }
    torch::nn::Conv2d conv = register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(2, 2, 1)));
    torch::nn::Conv2d conv2 = register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(2, 2, 1)));
    std::shared_ptr<FloatFunctional> inner = register_module("inner", std::make_shared<FloatFunctional>());
  };
  const auto certain = [](const EagerModel& model, const std::string& module) {
    const Graph graph = model.trace();
    ModuleOfNode modules(model.modules(), graph);
    for (const auto& node : graph.nodes()) modules.of(*node);
    return modules.is_certain(module);
  };
  EXPECT_FALSE(certain(EagerModel(std::make_shared<Sums>(), {at::rand({1, 2, 4, 4})}), "inner"));
  const auto net = make_zoo_model("mobilenet_v3_small", {.num_classes = 5, .quantizable = true});
  const EagerModel model(net, {at::rand({1, 3, 64, 64})});
  for (const std::string& name : registered(model, "FloatFunctional", "skip_mul")) EXPECT_TRUE(certain(model, name));
}

// Two in one place: in the order of registration. A ReLU is its layer's.
TEST(ModuleOfNode, OfTwoInOneModule) {
  struct Twice : torch::nn::Module {
    at::Tensor forward(const at::Tensor& x) {
      const at::Tensor y = first->add(conv(x), x);
      return at::relu(second->add(conv2(y), y));
    }
    torch::nn::Conv2d conv = register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(2, 2, 1)));
    torch::nn::Conv2d conv2 = register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(2, 2, 1)));
    std::shared_ptr<FloatFunctional> first = register_module("first", std::make_shared<FloatFunctional>());
    std::shared_ptr<FloatFunctional> second = register_module("second", std::make_shared<FloatFunctional>());
  };
  const EagerModel model(std::make_shared<Twice>(), {at::rand({1, 2, 4, 4})});
  EXPECT_EQ(modules_of(model, "Add"), (Names{"first", "second"}));
  EXPECT_EQ(modules_of(model, "MaxPool"), Names{});
  ModuleOfNode modules(model.modules(), model.trace());
  EXPECT_EQ(modules.type_of("second"), "FloatFunctional");
  EXPECT_EQ(modules.type_of("third"), "");
}

}  // namespace
}  // namespace quench
