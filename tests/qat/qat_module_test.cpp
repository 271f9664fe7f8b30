// prepare_qat on small modules: whose tensors train, what the switches do, and that the integers are those that were
// trained.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/optim/sgd.h>
#include <torch/serialize.h>

#include <filesystem>
#include <set>

#include "qat/stubbed_net.h"
#include "quench/pass.h"
#include "quench/qat.h"
#include "support/expect_error.h"

namespace quench {
namespace {

std::set<std::string> names_of(const auto& named) {
  std::set<std::string> names;
  for (const auto& item : named) names.insert(item.key());
  return names;
}

TEST(QatModule, ItsFloatParametersAreTheModulesOwn) {
  const auto net = make_net();
  const auto q = prepared(net, get_default_qat_qconfig("fbgemm"));
  const auto own = net->named_parameters(), of_q = q->named_parameters();
  EXPECT_EQ(names_of(of_q), names_of(own));  // nothing else learns
  for (const auto& item : own) EXPECT_EQ(of_q[item.key()].data_ptr(), item.value().data_ptr()) << item.key();
  const auto buffers = q->named_buffers();
  EXPECT_EQ(buffers["bn.running_var"].data_ptr(), net->bn->running_var.data_ptr());
  EXPECT_EQ(buffers["conv.weight_fake_quant.scale"].sizes(), at::IntArrayRef({4}));
  EXPECT_TRUE(buffers.contains("fc.activation_post_process.zero_point"));
}

TEST(QatModule, AStepTrainsTheModule) {
  const auto net = make_net();
  const auto q = prepared(net, get_default_qat_qconfig("fbgemm"));
  torch::optim::SGD optimizer(q->parameters(), 0.1);
  std::vector<at::Tensor> before;
  for (const at::Tensor& parameter : net->parameters()) before.push_back(parameter.detach().clone());
  step(*q, optimizer, images(16));
  const std::vector<at::Tensor> after = net->parameters();
  const std::vector<std::string> names = net->named_parameters().keys();
  for (std::size_t i = 0; i < after.size(); ++i) {
    ASSERT_TRUE(after[i].grad().defined()) << names[i];
    // A bias in front of BatchNorm has no effect; its gradient is rounding alone.
    if (names[i] != "conv.bias") EXPECT_FALSE(at::equal(after[i], before[i])) << names[i];
  }
  EXPECT_EQ(net->bn->num_batches_tracked.item<int>(), 1);
  EXPECT_FALSE(at::equal(net->bn->running_mean, at::zeros({4})));
}

TEST(QatModule, WithoutAModuleAllWeightsLearn) {
  const auto net = make_net();
  const auto q = prepared(net, get_default_qat_qconfig("fbgemm"));
  q->forward(images(8));
  QuantizedModel model = q->model();
  run_passes(model.graph, {"fold_live_norms"});
  for (Value* constant : model.graph.constants()) constant->set_parameter(false);  // as folding leaves its results
  QatModule alone(std::move(model));
  EXPECT_EQ(names_of(alone.named_parameters()),
            (std::set<std::string>{"conv.weight", "conv.bias", "fc.weight", "fc.bias"}));
  torch::optim::SGD optimizer(alone.parameters(), 0.1);
  const at::Tensor before = alone.named_parameters()["conv.weight"].detach().clone();
  step(alone, optimizer, images(8));
  EXPECT_FALSE(at::equal(alone.named_parameters()["conv.weight"], before));
}

TEST(QatModule, AFrozenParameterStaysFrozen) {
  const auto net = make_net();
  net->fc->weight.set_requires_grad(false);
  const auto q = prepared(net, get_default_qat_qconfig("fbgemm"));
  EXPECT_FALSE(q->named_parameters()["fc.weight"].requires_grad());
  q->forward(images(4)).sum().backward();
  EXPECT_FALSE(net->fc->weight.grad().defined());
  EXPECT_TRUE(net->fc->bias.grad().defined());
}

// torch's default: the first batch gives the range, every later one moves it by a hundredth.
TEST(QatModule, QuantizersFollowTheirObserversInTraining) {
  const auto net = make_net();
  const auto q = prepared(net, get_default_qat_qconfig("fbgemm"));
  const at::Tensor scale = q->named_buffers()["quant_stub.activation_post_process.scale"];
  const at::Tensor first = images(8), second = first * 3;
  const double range = (first.max() - first.min()).item<double>();
  q->forward(first);
  EXPECT_NEAR(scale.item<double>(), range / 127, range * 1e-6);
  q->forward(second);
  EXPECT_NEAR(scale.item<double>(), range * (0.99 + 0.03) / 127, range * 1e-6);
  q->disable_observer();
  const at::Tensor kept = scale.clone();
  q->forward(second);
  EXPECT_TRUE(at::equal(scale, kept));
  q->enable_observer();
  q->eval();
  q->forward(second);
  EXPECT_TRUE(at::equal(scale, kept));
  q->train();
  q->forward(second);
  EXPECT_FALSE(at::equal(scale, kept));
}

TEST(QatModule, ScalesLearnFromTheFirstBatchOn) {
  const auto net = make_net();
  const auto q = prepared(net, learning());
  const auto parameters = q->named_parameters();
  ASSERT_TRUE(parameters.contains("conv.weight_fake_quant.scale"));
  ASSERT_TRUE(parameters.contains("quant_stub.activation_post_process.zero_point"));
  EXPECT_EQ(q->parameters().size(), net->parameters().size() + 2 + 3 * 2);  // 2 weights, 3 activations with zero points
  EXPECT_EQ(q->quantizer_parameters().size(), 2U + 3U * 2U);
  std::set<const at::TensorImpl*> of_network, of_module;
  for (const at::Tensor& one : q->network_parameters()) of_network.insert(one.unsafeGetTensorImpl());
  for (const at::Tensor& one : net->parameters()) of_module.insert(one.unsafeGetTensorImpl());
  EXPECT_EQ(of_network, of_module);
  const at::Tensor x = images(16), scale = parameters["quant_stub.activation_post_process.scale"];
  torch::optim::SGD optimizer(q->parameters(), 0.01);
  q->forward(x);
  EXPECT_NEAR(scale.item<double>(), ((x.max() - x.min()) / 127).item<double>(), 1e-6);
  EXPECT_EQ(net->bn->num_batches_tracked.item<int>(), 1);  // finding the scales did not count
  step(*q, optimizer, x);
  const at::Tensor learned = scale.detach().clone();
  q->forward(x * 100);  // nothing observes any more
  EXPECT_TRUE(at::equal(scale.detach(), learned));
  for (const auto& item : q->named_parameters())
    EXPECT_TRUE(item.value().grad().defined() && item.value().grad().isfinite().all().item<bool>()) << item.key();
}

// Several batches instead of the first alone: torch's way of calibrating before training.
TEST(QatModule, ObservedWithoutQuantizing) {
  const auto net = make_net();
  const auto q = prepared(net, learning());
  q->disable_fake_quant();
  const at::Tensor x = images(16);
  q->forward(x);
  q->forward(2 * x);
  q->enable_fake_quant();
  const at::Tensor scale = q->named_parameters()["quant_stub.activation_post_process.scale"];
  EXPECT_NEAR(scale.item<double>(), (2 * (x.max() - x.min()) / 127).item<double>(), 1e-6);
  q->eval();
  EXPECT_EQ(q->forward(x).sizes(), at::IntArrayRef({16, 5}));
}

TEST(QatModule, WithoutFakeQuantItIsTheModule) {
  const auto net = make_net();
  const auto q = prepared(net, get_default_qat_qconfig("fbgemm"));
  q->disable_fake_quant();
  q->eval();
  net->eval();
  const at::Tensor x = images(16), expected = net->forward(x);
  const at::Tensor got = q->forward(x);
  EXPECT_TRUE(at::allclose(got, expected, 0, 65 * 1.2e-7 * expected.abs().max().item<double>()));
  EXPECT_TRUE(got.requires_grad());
  const c10::NoGradGuard no_grad;
  EXPECT_FALSE(q->forward(x).requires_grad());
}

TEST(QatModule, BatchNormCanBeFrozenAndLetGo) {
  const auto net = make_net();
  const auto q = prepared(net, get_default_qat_qconfig("fbgemm"));
  const auto moves = [&] {
    const at::Tensor before = net->bn->running_mean.clone();
    q->forward(images(8));
    return !at::equal(net->bn->running_mean, before);
  };
  EXPECT_TRUE(moves());
  q->freeze_bn_stats();
  EXPECT_FALSE(moves());
  q->forward(images(8)).sum().backward();
  EXPECT_TRUE(net->bn->weight.grad().defined());  // gamma learns
  q->update_bn_stats();
  EXPECT_TRUE(moves());
}

TEST(QatModule, SavedAndLoaded) {
  const std::string file = testing::TempDir() + "/qat_module.pt";
  const auto net = make_net(), other = make_net();
  const auto q = prepared(net, get_default_qat_qconfig("fbgemm")),
             r = prepared(other, get_default_qat_qconfig("fbgemm"));
  torch::optim::SGD optimizer(q->parameters(), 0.1);
  for (int i = 0; i < 3; ++i) step(*q, optimizer, images(8));
  q->freeze_bn_stats();
  torch::save(q, file);
  auto loaded = r;
  torch::load(loaded, file);
  const at::Tensor x = images(8);
  q->eval();
  r->eval();
  EXPECT_TRUE(at::equal(r->forward(x), q->forward(x)));
  EXPECT_TRUE(at::equal(other->conv->weight, net->conv->weight));
  // What observers saw goes on where it was, and the statistics stay frozen.
  q->train();
  r->train();
  EXPECT_TRUE(at::equal(r->forward(3 * x), q->forward(3 * x)));
  EXPECT_TRUE(at::equal(r->named_buffers()["quant_stub.activation_post_process.scale"],
                        q->named_buffers()["quant_stub.activation_post_process.scale"]));
  EXPECT_EQ(other->bn->num_batches_tracked.item<int>(), 3);
  std::filesystem::remove(file);
}

TEST(QatModule, TensorsCopiedByNameAreEnough) {
  const auto net = make_net(), other = make_net();
  const auto q = prepared(net, get_default_qat_qconfig("fbgemm")),
             r = prepared(other, get_default_qat_qconfig("fbgemm"));
  torch::optim::SGD optimizer(q->parameters(), 0.1);
  step(*q, optimizer, images(8));
  const c10::NoGradGuard no_grad;
  const auto to = r->named_parameters();
  for (const auto& item : q->named_parameters()) to[item.key()].copy_(item.value());
  const auto buffers = r->named_buffers();
  for (const auto& item : q->named_buffers()) buffers[item.key()].copy_(item.value());
  q->eval();
  r->eval();
  const at::Tensor x = images(8);
  EXPECT_TRUE(at::equal(r->forward(x), q->forward(x)));
}

// conv, bn, relu -> conv2, bn2, relu -> mean over the image -> fc.
struct Pooled : nn::Module {
  explicit Pooled(std::int64_t width = 4) {
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(2, width, 3).padding(1)));
    bn = register_module("bn", nn::BatchNorm2d(width));
    conv2 = register_module("conv2", nn::Conv2d(nn::Conv2dOptions(width, width, 1)));
    bn2 = register_module("bn2", nn::BatchNorm2d(width));
    fc = register_module("fc", nn::Linear(width, 5));
  }
  at::Tensor forward(at::Tensor x) {
    x = at::relu(bn(conv(x)));
    x = at::relu(bn2(conv2(x)));
    return fc(x.mean({2, 3}));
  }
  nn::Conv2d conv{nullptr}, conv2{nullptr};
  nn::BatchNorm2d bn{nullptr}, bn2{nullptr};
  nn::Linear fc{nullptr};
};

std::shared_ptr<Pooled> pooled(std::int64_t width = 4) {
  at::manual_seed(0);
  return std::make_shared<Pooled>(width);
}

TEST(QatModule, WhatDoesNotFitIsNotLoaded) {
  const std::string file = testing::TempDir() + "/qat_module_wide.pt";
  const QConfig qconfig = get_default_qat_qconfig("fbgemm");
  const auto wide = pooled(8), net = pooled(4);
  auto q = prepare_qat(net, {images(1)}, qconfig);
  const at::Tensor before = net->fc->bias.detach().clone();
  torch::save(prepare_qat(wide, {images(1)}, qconfig), file);
  EXPECT_ERROR(torch::load(q, file), "' has the shape [", "8", "in the file, and [", "4", "the same network");
  torch::save(pooled(4), file);
  EXPECT_ERROR(torch::load(q, file), "the file has no '", "_fake_quant'", "what prepare_qat makes of");
  const auto half = pooled(4);
  const auto of_halves = prepare_qat(half, {images(1)}, qconfig);
  half->fc->weight.set_data(half->fc->weight.to(at::kHalf));
  torch::save(of_halves, file);
  EXPECT_ERROR(torch::load(q, file), "'fc.weight' is of type Half in the file, and Float here");
  EXPECT_TRUE(at::equal(net->fc->bias, before));
  EXPECT_EQ(net->conv->weight.sizes(), at::IntArrayRef({4, 2, 3, 3}));
  EXPECT_EQ(q->forward(images(2)).sizes(), at::IntArrayRef({2, 5}));
  std::filesystem::remove(file);
}

TEST(QatModule, IsPartOfASequential) {
  const auto q = prepare_qat(pooled(), {images(1)}, get_default_qat_qconfig("fbgemm"));
  torch::nn::Sequential both(q, nn::ReLU());
  const at::Tensor x = images(8);
  both->forward(x).sum().backward();
  EXPECT_EQ(both->parameters().size(), q->parameters().size());
  both->eval();
  EXPECT_TRUE(at::equal(both->forward(x), q->forward(x).relu()));
  EXPECT_TRUE(at::equal(q->forward_all({x})[0], q->forward(x)));
}

TEST(QatModule, ImagesOfOtherSizes) {
  const ModuleImportOptions options = {.dynamic_dims = {{{0, "N"}, {2, "H"}, {3, "W"}}}};
  const at::Tensor other = at::randn({3, 2, 6, 9});
  const auto q = prepare_qat(pooled(), {images(1)}, get_default_qat_qconfig("fbgemm"), options);
  q->forward(images(8)).sum().backward();
  EXPECT_EQ(q->forward(other).sizes(), at::IntArrayRef({3, 5}));
  QuantizedModel integers = convert(*q);
  EXPECT_EQ(integers.run({other})[0].tensor().sizes(), at::IntArrayRef({3, 5}));
  const auto net = pooled();
  net->eval();
  PreparedModel prepared = prepare(net, {images(1)}, get_default_qconfig("fbgemm"), options);
  prepared.forward(images(8));
  EXPECT_EQ(prepared.forward(other).sizes(), at::IntArrayRef({3, 5}));
}

// As in torch: what is in evaluation mode inside of a module that trains keeps its statistics.
TEST(QatModule, ANormInEvaluationModeBeginsFrozen) {
  const QConfig qconfig = get_default_qat_qconfig("fbgemm");
  const auto net = pooled(), other = pooled();
  net->bn->eval();
  const auto q = prepare_qat(net, {images(1)}, qconfig);
  const auto moves = [](QatModule& module, const nn::BatchNorm2d& norm) {
    const at::Tensor before = norm->running_mean.clone();
    module.forward(images(8)).sum().backward();
    return !at::equal(norm->running_mean, before);
  };
  EXPECT_FALSE(moves(*q, net->bn));
  EXPECT_TRUE(moves(*q, net->bn2));
  EXPECT_TRUE(net->bn->weight.grad().defined());
  const std::string file = testing::TempDir() + "/qat_module_frozen.pt";
  torch::save(q, file);
  other->bn->eval();
  auto r = prepare_qat(other, {images(1)}, qconfig);
  r->update_bn_stats();
  EXPECT_TRUE(moves(*r, other->bn));
  torch::load(r, file);
  EXPECT_FALSE(moves(*r, other->bn));
  EXPECT_TRUE(moves(*r, other->bn2));
  r->freeze_bn_stats();
  EXPECT_FALSE(moves(*r, other->bn2));
  r->update_bn_stats();
  EXPECT_TRUE(moves(*r, other->bn));
  q->eval();
  q->disable_fake_quant();
  net->eval();
  const at::Tensor x = images(16), expected = net->forward(x);
  EXPECT_TRUE(at::allclose(q->forward(x), expected, 0, 65 * 1.2e-7 * expected.abs().max().item<double>()));
  QuantizedModel integers = convert(*q);
  EXPECT_EQ(integers.run({x})[0].tensor().sizes(), at::IntArrayRef({16, 5}));
  std::filesystem::remove(file);
}

TEST(QatModule, ListsAndQConfigsOfSubmodules) {
  const auto net = make_net();
  net->train();
  EagerModel model(net, {images(1)});
  model.qconfig.set_global(get_default_qat_qconfig("fbgemm")).set_module_name("fc", std::nullopt);
  model = fuse_modules(model, {{"conv", "bn", "relu"}}, true);
  const auto q = prepare_qat(model);
  EXPECT_TRUE(q->plan().find("conv.weight"));
  EXPECT_FALSE(q->plan().find("fc.weight"));
  q->forward(images(4));
  QuantizedModel integers = convert(*q);
  EXPECT_EQ(integers.run({images(3)})[0].tensor().sizes(), at::IntArrayRef({3, 5}));
}

TEST(QatModule, BatchNormAndReluAloneAreTakenLiterally) {
  const auto net = make_net();
  net->train();
  EagerModel model(net, {images(1)});
  model.qconfig.set_global(get_default_qat_qconfig("fbgemm"));
  const auto q = prepare_qat(fuse_modules(model, {{"bn", "relu"}}, true));
  EXPECT_TRUE(q->plan().find("conv")) << "the convolution's output has codes of its own";
  q->forward(images(8)).sum().backward();
  EXPECT_TRUE(net->conv->weight.grad().defined());
  ConvertRecord record;
  QuantizedModel integers = convert(*q, {}, &record);
  ASSERT_EQ(record.in_float.size(), 2U);  // with the Relu behind it
  EXPECT_EQ(record.in_float[0].node, "bn");
  EXPECT_EQ(integers.run({images(3)})[0].tensor().sizes(), at::IntArrayRef({3, 5}));
}

TEST(QatModule, ModesAreDemanded) {
  const auto net = make_net();
  net->eval();
  EXPECT_ERROR(prepare_qat(net, {images(1)}, get_default_qat_qconfig("fbgemm")),
               "prepare_qat: the module is in evaluation mode; call train()");
  const auto wrapped = std::make_shared<QuantWrapper<Net>>(net);  // takes over the mode
  EXPECT_ERROR(prepare_qat(wrapped, {images(1)}, get_default_qat_qconfig("fbgemm")), "call train()");
}

TEST(QatModule, ScalesMustBeKnown) {
  const auto net = make_net();
  const auto q = prepared(net, get_default_qat_qconfig("fbgemm"));
  EXPECT_ERROR(q->model(), "the quantizers have no scales yet: forward a batch in training mode first");
  EXPECT_ERROR(convert(*q), "the quantizers have no scales yet");
  q->eval();
  EXPECT_ERROR(q->forward(images(1)), "or disable_fake_quant()");
  q->train();
  q->disable_observer();
  EXPECT_ERROR(q->forward(images(1)), "their observers are off: enable_observer()");
  EXPECT_ERROR(q->forward_all({images(1), images(1)}), "the model takes 1 inputs, 2 were given");
  q->enable_observer();
  q->forward(images(2));
  EXPECT_ERROR(QatModule(convert(*q)), "a converted model has no parameters to train");
}

}  // namespace
}  // namespace quench
