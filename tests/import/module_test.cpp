// from_module on modules written to be awkward, and its errors.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include "graph/tensor_types.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/torch.h"
#include "support/message_of.h"

namespace quench {
namespace {

namespace nn = torch::nn;

// Two inputs, two outputs, a buffer, a submodule used twice, a list, dropout, in-place operators, a size
// read in C++.
struct Awkward : nn::Module {
  Awkward() {
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(3, 4, 3).padding(1)));
    bn = register_module("bn", nn::BatchNorm2d(4));
    shared = register_module("shared", nn::Conv2d(nn::Conv2dOptions(4, 4, 1).bias(false)));
    list = register_module("list", nn::ModuleList(nn::Linear(64, 16), nn::Linear(16, 16)));
    drop = register_module("drop", nn::Dropout(0.25));
    offset = register_buffer("offset", at::arange(16).to(at::kFloat) / 16);
    bn->running_mean.uniform_(-0.5, 0.5);
    bn->running_var.uniform_(0.5, 1.5);
  }

  std::tuple<at::Tensor, at::Tensor> forward(at::Tensor x, at::Tensor scale) {
    x = bn(conv(x));
    x.relu_();
    x = shared(shared(x));
    x += 0.5;
    x = x.view({x.size(0), -1});
    for (auto& layer : *list) x = layer->as<nn::Linear>()->forward(x).sigmoid_();
    at::Tensor first = drop(x) + x + offset;
    return {first * scale.expand({scale.size(0), 16}), x.mean(1)};
  }

  nn::Conv2d conv{nullptr}, shared{nullptr};
  nn::BatchNorm2d bn{nullptr};
  nn::ModuleList list{nullptr};
  nn::Dropout drop{nullptr};
  at::Tensor offset;
};

std::vector<at::Tensor> awkward_inputs(std::int64_t batch) {
  return {at::randn({batch, 3, 4, 4}), at::randn({batch, 1})};
}

std::vector<at::Tensor> run(const Graph& graph, const std::vector<at::Tensor>& inputs, ExecOptions options = {}) {
  Executor executor(graph, options);
  std::vector<at::Tensor> results;
  for (const RtValue& value : executor.run({inputs.begin(), inputs.end()})) results.push_back(value.tensor());
  return results;
}

TEST(FromModule, GivesTheSameResultsAtABatchSizeThatWasNeverTraced) {
  const auto net = std::make_shared<Awkward>();
  const Graph graph = from_module(net, awkward_inputs(2));
  net->eval();
  const std::vector<at::Tensor> inputs = awkward_inputs(7);
  const auto [first, second] = net->forward(inputs[0], inputs[1]);
  const std::vector<at::Tensor> results = run(graph, inputs);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_TRUE(at::allclose(results[0], first, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(results[1], second, 1e-5, 1e-6));
  EXPECT_EQ(graph.inputs()[0]->type().text(), "float[N, 3, 4, 4]");
  EXPECT_EQ(graph.outputs()[0]->type().text(), "float[N, 16]");
}

TEST(FromModule, NamesNodesAfterModulesAndSharesTheirTensors) {
  Awkward net;
  const Graph graph = from_module(net, awkward_inputs(2));
  for (const char* name : {"conv", "bn", "bn.relu", "shared", "shared_2", "list.0", "list.1", "list.0.sigmoid"})
    EXPECT_NE(graph.find_node(name), nullptr) << name;
  EXPECT_EQ(graph.find_node("list.0")->op(), "Gemm");
  EXPECT_EQ(graph.find_node("list.0")->get_int("transB", 0), 1);
  EXPECT_TRUE(graph.find_node("list.0")->input(1)->tensor().is_same(net.list[0]->as<nn::Linear>()->weight));
  EXPECT_EQ(graph.find_node("shared")->input(1), graph.find_node("shared_2")->input(1));
  EXPECT_EQ(graph.find_node("bn")->get_float("momentum", 0), 0.9);
  EXPECT_TRUE(
      graph.find_node("bn")->require_tensor("quench.num_batches_tracked").tensor->is_same(net.bn->num_batches_tracked));
  EXPECT_TRUE(graph.value("conv.weight").is_parameter());
  EXPECT_FALSE(graph.value("offset").is_parameter());
  EXPECT_TRUE(graph.value("offset").tensor().is_same(net.offset));
  EXPECT_EQ(graph.parameters().size(), net.parameters().size());
}

TEST(FromModule, LeavesTheModuleAsItWas) {
  Awkward net;
  net.train();
  net.bn->eval();
  net.conv->weight.set_requires_grad(false);
  std::vector<at::Tensor> before;
  for (const at::Tensor& tensor : net.parameters()) before.push_back(tensor.detach().clone());
  for (const at::Tensor& tensor : net.buffers()) before.push_back(tensor.clone());
  const std::vector<at::Tensor> inputs = awkward_inputs(2);
  const at::Tensor input = inputs[0].clone();
  const at::Tensor random = at::globalContext().defaultGenerator(at::kCPU).get_state();
  from_module(net, inputs);
  EXPECT_TRUE(at::equal(random, at::globalContext().defaultGenerator(at::kCPU).get_state()));
  EXPECT_TRUE(at::equal(input, inputs[0]));
  std::vector<at::Tensor> after = net.parameters();
  for (const at::Tensor& tensor : net.buffers()) after.push_back(tensor);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(bit_equal(before[i], after[i])) << i;
  EXPECT_TRUE(net.is_training() && net.drop->is_training() && net.list[1]->is_training());
  EXPECT_FALSE(net.bn->is_training());
  EXPECT_FALSE(net.conv->weight.requires_grad());
  EXPECT_TRUE(net.shared->weight.requires_grad());
}

TEST(FromModule, GradientsThroughTheGraphAreTheModules) {
  Awkward net;
  const Graph graph = from_module(net, awkward_inputs(2));
  net.eval();
  const std::vector<at::Tensor> inputs = awkward_inputs(5);
  const auto loss = [](const at::Tensor& a, const at::Tensor& b) { return a.square().mean() + b.sum(); };
  const auto [first, second] = net.forward(inputs[0], inputs[1]);
  loss(first, second).backward();
  std::vector<at::Tensor> expected;
  for (const at::Tensor& tensor : net.parameters()) expected.push_back(tensor.grad().clone());
  net.zero_grad();
  ExecOptions options;
  options.grad = true;
  const std::vector<at::Tensor> results = run(graph, inputs, options);
  loss(results[0], results[1]).backward();
  const std::vector<at::Tensor> parameters = net.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    EXPECT_TRUE(at::allclose(parameters[i].grad(), expected[i], 1e-5, 1e-7)) << i;
}

TEST(FromModule, DropoutIsAliveInTrainingAndLeavesItsInputAlone) {
  Awkward net;
  const Graph graph = from_module(net, awkward_inputs(2));
  const Node* sum = graph.find_node("list.1.add");
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(sum->input(0)->producer()->op(), "Dropout");
  EXPECT_EQ(sum->input(1)->producer()->op(), "Sigmoid");
  ExecOptions options;
  options.training = true;
  const std::vector<at::Tensor> inputs = awkward_inputs(4);
  EXPECT_FALSE(at::allclose(run(graph, inputs, options)[0], run(graph, inputs)[0]));
  EXPECT_EQ(net.bn->num_batches_tracked.item<std::int64_t>(), 1);
}

struct Lambda : nn::Module {
  explicit Lambda(std::function<at::Tensor(at::Tensor)> f) : function(std::move(f)) {
    layer = register_module("layer", nn::Linear(4, 4));
  }
  at::Tensor forward(const at::Tensor& x) { return function(layer(x)); }
  std::function<at::Tensor(at::Tensor)> function;
  nn::Linear layer{nullptr};
};

std::string import_error(std::function<at::Tensor(at::Tensor)> function, std::int64_t batch = 2) {
  return message_of([&] { from_module(Lambda(std::move(function)), {at::randn({batch, 4})}); });
}

TEST(FromModule, RefusesADataDependentBranch) {
  const auto branch = [](const at::Tensor& x) { return x.sum().item<float>() > 0 ? x * 2 : x * 3; };
  const std::string message = import_error(branch);
  EXPECT_NE(message.find("reads an element of a tensor (aten::item) while it runs; control flow"), std::string::npos)
      << message;
}

TEST(FromModule, RefusesASizeDependentBranch) {
  const std::string message = import_error([](const at::Tensor& x) { return x.size(0) > 2 ? x.relu() : x; });
  EXPECT_NE(message.find("the module runs different operators for another batch size: 'aten::relu'"), std::string::npos)
      << message;
}

TEST(FromModule, NamesAnUnsupportedOperatorAndItsLayer) {
  const std::string message = import_error([](const at::Tensor& x) { return x.digamma(); });
  EXPECT_NE(message.find("aten::digamma (at 'layer.digamma') is not supported; wrap"), std::string::npos) << message;
}

TEST(FromModule, RefusesARandomOperator) {
  const std::string message = import_error([](const at::Tensor& x) { return x + at::rand_like(x); });
  EXPECT_NE(message.find("aten::rand_like"), std::string::npos) << message;
}

TEST(FromModule, RefusesANumberThatNoSizeExplains) {
  const std::string message =
      import_error([](const at::Tensor& x) { return x.slice(1, 0, (x.size(0) * x.size(0)) % 5); });
  EXPECT_NE(message.find("aten::slice (at 'layer.slice')"), std::string::npos) << message;
  EXPECT_NE(message.find("which no dim of a tensor explains"), std::string::npos) << message;
}

// 2, 4 and 6 rows are traced and look like "all"; 8 were never traced.
TEST(FromModule, NoticesABoundThatTheTracesDidNotReach) {
  const std::string message =
      import_error([](const at::Tensor& x) { return x.slice(0, 0, std::min<std::int64_t>(x.size(0), 6)) * 2; });
  EXPECT_NE(message.find("output 0 of the module is float[6, 4], the graph's is float[8, 4]"), std::string::npos)
      << message;
}

TEST(FromModule, RefusesAReadOfAViewThatWasWrittenThrough) {
  const std::string message = import_error([](const at::Tensor& x) {
    x.select(1, 0).zero_();
    return x * 2;
  });
  EXPECT_NE(message.find("reads a view of a tensor that an in-place operator has changed"), std::string::npos)
      << message;
}

struct Counting : nn::Module {
  Counting() { count = register_buffer("count", at::zeros({1})); }
  at::Tensor forward(const at::Tensor& x) { return x + count.add_(1); }
  at::Tensor count;
};

TEST(FromModule, RefusesAWriteIntoABufferAndTakesItBack) {
  Counting net;
  const std::string message = message_of([&] { from_module(net, {at::randn({2, 1})}); });
  EXPECT_NE(message.find("aten::add (at 'add') writes to 'count' in evaluation mode"), std::string::npos) << message;
  EXPECT_EQ(net.count.item<float>(), 0);
}

TEST(FromModule, RefusesTheWrongNumberOfInputs) {
  const std::string message =
      message_of([] { from_module(nn::Linear(4, 4), {at::randn({1, 4}), at::randn({1, 4}), at::randn({1, 4})}); });
  EXPECT_NE(message.find("forward cannot be called with 3 tensors"), std::string::npos) << message;
}

struct Tied : nn::Module {
  Tied() {
    a = register_module("a", nn::Linear(nn::LinearOptions(4, 4).bias(false)));
    b = register_module("b", nn::Linear(nn::LinearOptions(4, 4).bias(false)));
    b->weight = b->register_parameter("tied", a->weight);
  }
  at::Tensor forward(const at::Tensor& x) { return b(a(x).tanh()); }
  nn::Linear a{nullptr}, b{nullptr};
};

TEST(FromModule, TiedWeightsAreOneValue) {
  Tied net;
  const Graph graph = from_module(net, {at::randn({2, 4})});
  EXPECT_EQ(graph.parameters().size(), 1U);
  EXPECT_EQ(graph.value("a.weight").uses().size(), 2U);
}

TEST(FromModule, TakesDynamicDimsByName) {
  ModuleImportOptions options;
  options.dynamic_dims = {{{0, "B"}, {2, "T"}}};
  options.input_names = {"x"};
  options.output_names = {"y"};
  Lambda net([](const at::Tensor& x) {
    return x.reshape({x.size(0) * x.size(1), x.size(2), 4}).narrow(1, 0, x.size(2) - 1).flatten(0, 1);
  });
  const Graph graph = from_module(net, {at::randn({2, 3, 5, 4})}, options);
  EXPECT_EQ(graph.inputs()[0]->type().text(), "float[B, 3, T, 4]");
  EXPECT_EQ(graph.outputs()[0]->name(), "y");
  const at::Tensor x = at::randn({4, 3, 9, 4});
  EXPECT_TRUE(at::allclose(run(graph, {x})[0], net.forward(x), 1e-5, 1e-6));
}

struct WithLeaf : nn::Module {
  WithLeaf() {
    first = register_module("first", nn::Linear(4, 4));
    // erfinv has no counterpart.
    struct Odd : nn::Module {
      Odd() { inner = register_module("inner", nn::Linear(4, 4)); }
      at::Tensor forward(const at::Tensor& x) { return inner(x).tanh().erfinv(); }
      nn::Linear inner{nullptr};
    };
    leaf = register_module("leaf", std::make_shared<Leaf>(std::make_shared<Odd>()));
    quant = register_module("quant", std::make_shared<QuantStub>());
    dequant = register_module("dequant", std::make_shared<DeQuantStub>());
  }
  at::Tensor forward(const at::Tensor& x) { return dequant->forward(leaf->forward(first(quant->forward(x)))) + x; }
  nn::Linear first{nullptr};
  std::shared_ptr<Leaf> leaf;
  std::shared_ptr<QuantStub> quant;
  std::shared_ptr<DeQuantStub> dequant;
};

TEST(Leaf, IsOneNodeThatOutlivesItsModuleAndTrains) {
  auto net = std::make_shared<WithLeaf>();
  const at::Tensor x = at::rand({3, 4}) / 4;
  net->forward(x).sum().backward();
  std::vector<at::Tensor> expected, parameters = net->parameters();
  for (const at::Tensor& tensor : parameters) expected.push_back(tensor.grad().clone());
  const Graph graph = from_module(net, {at::rand({2, 4}) / 4});
  const at::Tensor result = net->forward(x);
  net->zero_grad();
  net.reset();
  ASSERT_NE(graph.find_node("leaf"), nullptr);
  EXPECT_EQ(graph.find_node("leaf")->op(), "quench.Leaf");
  EXPECT_EQ(graph.find_node("quant_stub")->op(), "quench.QuantStub");
  EXPECT_EQ(graph.find_node("leaf.dequant_stub")->op(), "quench.DeQuantStub");
  EXPECT_EQ(graph.find_node("leaf.add")->input(1), graph.inputs()[0]);
  EXPECT_EQ(graph.parameters().size(), 4U);
  ExecOptions options;
  options.grad = true;
  const std::vector<at::Tensor> results = run(graph, {x}, options);
  EXPECT_TRUE(at::allclose(results[0], result));
  results[0].sum().backward();
  for (std::size_t i = 0; i < parameters.size(); ++i) EXPECT_TRUE(at::allclose(parameters[i].grad(), expected[i])) << i;
}

TEST(Leaf, IsMissedOnceEverythingThatHeldItIsGone) {
  EXPECT_NE(message_of([] { find_leaf(1 << 20); }).find("is not in this process"), std::string::npos);
}

}  // namespace
}  // namespace quench
