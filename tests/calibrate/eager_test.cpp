// The flow of PyTorch's notebook on small modules, and on MobileNetV2.
#include "quench/eager.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "quench/calibrate.h"
#include "quench/zoo_net.h"
#include "support/describe.h"

namespace quench {
namespace {

namespace nn = torch::nn;

// The notebook's module with a residual and a classifier: quant -> conv, bn, relu -> conv2 -> add_relu -> fc ->
// dequant.
struct Net : nn::Module {
  Net() {
    quant = register_module("quant", std::make_shared<QuantStub>());
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(2, 4, 3).padding(1)));
    bn = register_module("bn", nn::BatchNorm2d(4));
    relu = register_module("relu", nn::ReLU());
    conv2 = register_module("conv2", nn::Conv2d(nn::Conv2dOptions(4, 4, 1)));
    skip = register_module("skip", std::make_shared<FloatFunctional>());
    fc = register_module("fc", nn::Linear(4 * 16, 5));
    dequant = register_module("dequant", std::make_shared<DeQuantStub>());
    bn->running_mean.uniform_(-0.5, 0.5);
    bn->running_var.uniform_(0.5, 1.5);
  }

  at::Tensor forward(at::Tensor x) {
    x = relu(bn(conv(quant->forward(x))));
    x = skip->add_relu(conv2(x), x);
    return dequant->forward(fc(at::flatten(x, 1)));
  }

  std::shared_ptr<QuantStub> quant;
  nn::Conv2d conv{nullptr}, conv2{nullptr};
  nn::BatchNorm2d bn{nullptr};
  nn::ReLU relu{nullptr};
  std::shared_ptr<FloatFunctional> skip;
  nn::Linear fc{nullptr};
  std::shared_ptr<DeQuantStub> dequant;
};

std::shared_ptr<Net> make_net() {
  at::manual_seed(0);
  auto net = std::make_shared<Net>();
  net->eval();
  return net;
}

at::Tensor images(std::int64_t count) { return at::randn({count, 2, 4, 4}); }

EagerModel model_of(const std::shared_ptr<Net>& net, const std::string& backend = "fbgemm") {
  EagerModel model(net, {images(1)});
  model.qconfig.set_global(get_default_qconfig(backend));
  return model;
}

std::vector<at::Tensor> state_of(const nn::Module& module) {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : module.parameters()) copies.push_back(tensor.detach().clone());
  for (const at::Tensor& tensor : module.buffers()) copies.push_back(tensor.detach().clone());
  return copies;
}

std::string entries_of(const QuantPlan& plan) {
  std::string text;
  for (const PlanEntry& entry : plan.entries) text += (text.empty() ? "" : " ") + entry.value;
  return text;
}

TEST(Eager, TheNotebooksFlow) {
  const auto net = make_net();
  const std::vector<at::Tensor> before = state_of(*net);
  const EagerModel model = fuse_modules(model_of(net), {{"conv", "bn", "relu"}});
  PreparedModel prepared = prepare(model);
  const at::Tensor x = images(64), expected = net->forward(x);
  // Calibration is pure float; folding BatchNorm moves a few roundings, relative to sums of at most 65 products.
  EXPECT_TRUE(at::allclose(prepared.forward(x), expected, 0, 65 * 1.2e-7 * expected.abs().max().item<double>()));
  EXPECT_FALSE(prepared.finished());
  prepared.finish();
  EXPECT_NO_THROW(verify(prepared.model(), ModelStage::kCalibrated));
  const at::Tensor quantized = prepared.forward(x);
  EXPECT_FALSE(at::equal(quantized, expected));
  // The last layer's scale is its range over 127 steps, of which its own rounding takes half. The layers before add
  // theirs: 1/10 of the range would be a broken quantizer, not rounding.
  const double range = (expected.max() - expected.min()).item<double>();
  EXPECT_LT((quantized - expected).abs().max().item<double>(), range / 10);
  const std::vector<at::Tensor> after = state_of(*net);
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_TRUE(at::equal(after[i], before[i])) << i;
}

TEST(Eager, ADefaultQConfigIsThePlatformsOwn) {
  const QConfig qconfig = get_default_qconfig("qnnpack");
  EXPECT_EQ(qconfig.activation.observer, "histogram");
  EXPECT_EQ(qconfig.weight.granularity, Granularity::kTensor);
  const auto net = make_net();
  const PreparedModel prepared = prepare(net, {images(1)}, qconfig);
  EXPECT_EQ(prepared.plan().platform, "qnnpack");
  EXPECT_EQ(prepared.plan().find("conv.weight")->scheme.text(), "int8 symmetric tensor");
  EXPECT_NE(message_of([] { get_default_qconfig("fbgem"); }).find("did you mean 'fbgemm'"), std::string::npos);
  EXPECT_NE(message_of([] { get_default_qconfig("mmrazor_academic"); }).find("has no defaults"), std::string::npos);
}

TEST(Eager, OnlyWhatLiesBetweenTheStubsIsQuantized) {
  const auto inner = std::make_shared<nn::Conv2dImpl>(nn::Conv2dOptions(2, 4, 1));
  const auto wrapped = std::make_shared<QuantWrapper<nn::Conv2dImpl>>(inner);
  wrapped->eval();
  const PreparedModel with = prepare(wrapped, {images(1)}, get_default_qconfig("fbgemm"));
  EXPECT_EQ(with.plan().count(Role::kActivation), 2);
  EXPECT_EQ(with.plan().count(Role::kWeight), 1);

  struct Half : nn::Module {
    Half() {
      first = register_module("first", nn::Conv2d(nn::Conv2dOptions(2, 4, 1)));
      second = register_module("second", nn::Conv2d(nn::Conv2dOptions(4, 4, 1)));
    }
    at::Tensor forward(const at::Tensor& x) { return dequant_stub(second(quant_stub(first(x)))); }
    nn::Conv2d first{nullptr}, second{nullptr};
  };
  const auto half = std::make_shared<Half>();
  half->eval();
  const PreparedModel prepared = prepare(half, {images(1)}, get_default_qconfig("fbgemm"));
  EXPECT_FALSE(prepared.plan().find("first.weight"));
  EXPECT_TRUE(prepared.plan().find("second.weight"));
}

// The island reads and writes float; the next layer's input is quantized again.
TEST(Eager, AModuleWithoutQConfigIsAFloatIsland) {
  const auto net = make_net();
  EagerModel model = model_of(net);
  model.qconfig.set_module_name("conv2", std::nullopt);
  PreparedModel prepared = prepare(model);
  EXPECT_FALSE(prepared.plan().find("conv2.weight"));
  ASSERT_TRUE(prepared.plan().find("conv2"));
  EXPECT_TRUE(prepared.plan().find("conv2")->rule.starts_with("float input of Add"));
  EXPECT_TRUE(prepared.plan().find("fc.weight"));
  prepared.forward(images(8));
  prepared.finish();
  EXPECT_EQ(prepared.forward(images(3)).sizes(), at::IntArrayRef({3, 5}));
}

TEST(Eager, TheMoreExactQConfigWins) {
  const auto net = make_net();
  QConfig four = get_default_qconfig("fbgemm"), five = four, six = four;
  four.weight.bits = 4;
  five.weight.bits = 5;
  six.weight.bits = 6;
  EagerModel model = model_of(net);
  model.qconfig.set_module_name("conv", six).set_object_type("Conv2d", four).set_module_name_regex("f.", five);
  const PreparedModel prepared = prepare(model);
  EXPECT_EQ(prepared.plan().find("conv.weight")->scheme.bits(), 6);
  EXPECT_EQ(prepared.plan().find("conv2.weight")->scheme.bits(), 4);
  EXPECT_EQ(prepared.plan().find("fc.weight")->scheme.bits(), 5);
}

// torch's order: the innermost module's name; of regexes the first that was given.
TEST(Eager, TheOrderOfCallsDecidesAsInTorch) {
  struct Outer : nn::Module {
    Outer() { net = register_module("net", make_net()); }
    at::Tensor forward(const at::Tensor& x) { return net->forward(x); }
    std::shared_ptr<Net> net;
  };
  const auto outer = std::make_shared<Outer>();
  outer->eval();
  QConfig four = get_default_qconfig("fbgemm"), five = four, six = four;
  four.weight.bits = 4;
  five.weight.bits = 5;
  six.weight.bits = 6;
  EagerModel model(outer, {images(1)});
  model.qconfig.set_module_name("net.conv", six).set_module_name("net", four);
  const PreparedModel by_name = prepare(model);
  EXPECT_EQ(by_name.plan().find("net.conv.weight")->scheme.bits(), 6);
  EXPECT_EQ(by_name.plan().find("net.fc.weight")->scheme.bits(), 4);
  model.qconfig = {};
  model.qconfig.set_module_name_regex(".*conv2", five).set_module_name_regex(".*con.*", six);
  const PreparedModel by_regex = prepare(model);
  EXPECT_EQ(by_regex.plan().find("net.conv2.weight")->scheme.bits(), 5);
  EXPECT_EQ(by_regex.plan().find("net.conv.weight")->scheme.bits(), 6);
}

TEST(Eager, AQConfigGivenTwiceIsTheLast) {
  QConfigMapping mapping;
  mapping.set_module_name("conv", get_default_qconfig("fbgemm")).set_module_name("conv", std::nullopt);
  ASSERT_EQ(mapping.rules().size(), 1u);
  EXPECT_FALSE(mapping.rules()[0].qconfig);
}

// What follows a convolution is called after it, "conv2.add", and yet has a qconfig of its own.
TEST(Eager, AQConfigDoesNotReachWhatFollows) {
  const auto net = make_net();
  QConfig mine = get_default_qconfig("fbgemm");
  mine.activation.observer = "min_max";
  EagerModel model = model_of(net);
  model.qconfig.set_module_name("conv2", mine);
  const QuantPlan plan = prepare(model).plan();
  EXPECT_EQ(plan.find("conv2")->observer, "min_max");
  int others = 0;
  for (const PlanEntry& entry : plan.entries)
    if (entry.value.starts_with("conv2.") && entry.role == Role::kActivation) {
      EXPECT_EQ(entry.observer, "histogram") << entry.value;
      ++others;
    }
  EXPECT_GT(others, 0) << entries_of(plan);
}

TEST(Eager, QConfigOfOneModuleAlone) {
  const auto net = make_net();
  EagerModel model(net, {images(1)});
  EXPECT_NE(message_of([&] { prepare(model); }).find("nothing in the model has a qconfig"), std::string::npos);
  model.qconfig.set_object_type("Linear", get_default_qconfig("fbgemm"));
  const PreparedModel prepared = prepare(model);
  EXPECT_EQ(prepared.plan().count(Role::kWeight), 1);
  EXPECT_TRUE(prepared.plan().find("fc.weight")) << entries_of(prepared.plan());
}

TEST(Eager, AQConfigThatBelongsToNothingIsAnError) {
  const auto net = make_net();
  EagerModel model = model_of(net);
  model.qconfig.set_module_name("convolution", std::nullopt);
  EXPECT_NE(message_of([&] { prepare(model); }).find("no submodule, type or node has that name"), std::string::npos);
  model = model_of(net);
  model.qconfig.set_module_name("relu", std::nullopt);
  EXPECT_NE(message_of([&] { prepare(model); }).find("name the node instead"), std::string::npos);
  model = model_of(net);
  model.qconfig.set_module_name_regex("(", std::nullopt);
  EXPECT_NE(message_of([&] { prepare(model); }).find("the regex '(' of a qconfig cannot be read"), std::string::npos);
}

TEST(Eager, ModesAreCheckedBothWays) {
  const auto net = make_net();
  const EagerModel model = model_of(net);
  EXPECT_NE(message_of([&] { fuse_modules(model, {{"conv", "bn"}}, true); }).find("call train() on the module"),
            std::string::npos);
  net->train();
  EXPECT_NE(message_of([&] { fuse_modules(model, {{"conv", "bn"}}); }).find("'conv' is in training mode; call eval()"),
            std::string::npos);
  EXPECT_NO_THROW(fuse_modules(model, {{"conv", "bn"}}, std::nullopt));  // as the module is
  EXPECT_NO_THROW(fuse_modules(model, {{"conv", "relu"}}));              // no BatchNorm: either mode
  EXPECT_NE(message_of([&] { prepare(model); }).find("prepare: the module is in training mode; call eval()"),
            std::string::npos);
}

TEST(Eager, FuseModulesChecksItsLists) {
  const auto net = make_net();
  const EagerModel model = model_of(net);
  EXPECT_NE(message_of([&] { fuse_modules(model, {{"conv", "bm"}}); }).find("no submodule 'bm'; did you mean 'bn'?"),
            std::string::npos);
  EXPECT_NE(message_of([&] { fuse_modules(model, {{"bn", "conv"}}); }).find("'bn', 'conv' do not fuse"),
            std::string::npos);
  const EagerModel apart = fuse_modules(model, {{"conv2", "bn"}});
  EXPECT_NE(message_of([&] { prepare(apart); }).find("what 'conv2' gives is not read by 'bn' alone"),
            std::string::npos);
  EXPECT_TRUE(model.fused.empty());  // the copying form
  EagerModel changed = model;
  fuse_modules_in_place(changed, {{"conv", "bn", "relu"}});
  EXPECT_EQ(changed.fused.size(), 1U);
}

// As torch takes it; in braces it must not become a pair of iterators.
TEST(Eager, OneListOfNamesIsAListOfOne) {
  const auto net = make_net();
  EagerModel model = model_of(net);
  EXPECT_EQ(fuse_modules(model, {"conv", "bn"}).fused, (FuseLists{{"conv", "bn"}}));
  EXPECT_EQ(fuse_modules(model, {"conv", "bn", "relu"}, false).fused, (FuseLists{{"conv", "bn", "relu"}}));
  EXPECT_EQ(fuse_modules(model, {{"conv", "bn"}, {"conv2", "relu"}}).fused.size(), 2U);
  EXPECT_TRUE(fuse_modules(model, {}).fused.empty());
  fuse_modules_in_place(model, {"conv", "relu"});
  EXPECT_EQ(model.fused, (FuseLists{{"conv", "relu"}}));
  net->train();
  EXPECT_EQ(fuse_modules_qat(model_of(net), {"bn", "relu"}).fused, (FuseLists{{"bn", "relu"}}));
}

TEST(Eager, DefaultsForTrainingAreMovingAverages) {
  for (const char* backend : {"fbgemm", "x86", "onednn", "qnnpack"}) {
    const QConfig plain = get_default_qconfig(backend), qat = get_default_qat_qconfig(backend);
    EXPECT_EQ(qat.activation.observer, "ema_min_max") << backend;
    EXPECT_EQ(qat.weight.observer, "ema_min_max") << backend;
    EXPECT_EQ(qat.activation.observer_options.number("averaging_constant"), 0.01);
    EXPECT_EQ(qat.activation.bits, plain.activation.bits);  // 7 where torch reduces the range
    EXPECT_EQ(qat.weight.granularity, plain.weight.granularity);
  }
  EXPECT_EQ(get_default_qat_qconfig("fbgemm").activation.bits, 7);
  EXPECT_EQ(get_default_qat_qconfig("onednn").activation.bits, 8);
  EXPECT_EQ(get_default_qat_qconfig("qnnpack").weight.granularity, Granularity::kTensor);
}

// The notebook's QM3: the module knows its qconfig and its lists.
struct Unified : Net {
  explicit Unified(bool is_qat) : qconfig(is_qat ? get_default_qat_qconfig("qnnpack") : get_default_qconfig("fbgemm")) {
    train(is_qat);
  }
  FuseLists fuse_model(bool is_qat) const {
    return {is_qat ? FuseLists::value_type{"bn", "relu"} : FuseLists::value_type{"conv", "bn", "relu"}};
  }
  QConfig qconfig;
};

TEST(Eager, AModuleKnowsItsQConfigAndItsLists) {
  for (const bool is_qat : {false, true}) {
    EagerModel model(std::make_shared<Unified>(is_qat), {images(1)});
    ASSERT_TRUE(model.qconfig.global());
    EXPECT_EQ(model.qconfig.global()->backend, is_qat ? "qnnpack" : "fbgemm");
    fuse_model(model);
    ASSERT_EQ(model.fused.size(), 1U);
    EXPECT_EQ(model.fused[0].front(), is_qat ? "bn" : "conv");
    EXPECT_NE(message_of([&] { fuse_model(model, !is_qat); }).find("call "), std::string::npos) << "the other mode";
  }
  EagerModel plain = model_of(make_net());
  EXPECT_NE(message_of([&] { fuse_model(plain); }).find("has no member fuse_model()"), std::string::npos);
}

TEST(Eager, RecordedTensorsCanBeRead) {
  const auto net = make_net();
  QConfig qconfig = get_default_qconfig("fbgemm");
  qconfig.activation.observer = "recording";
  PreparedModel prepared = prepare(net, {images(1)}, qconfig);
  EXPECT_TRUE(prepared.recorded("fc").empty());
  const at::Tensor x = images(4), y = prepared.forward(x);
  prepared.forward(x);
  const std::vector<at::Tensor> seen = prepared.recorded("fc");
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_TRUE(at::equal(seen[0], y));
  EXPECT_NE(message_of([&] { prepared.recorded("fd"); }).find("'fd' has no observer 'recording'"), std::string::npos);
  prepared.finish();
  EXPECT_NE(message_of([&] { prepared.recorded("fc"); }).find("it is gone with finish()"), std::string::npos);
}

TEST(Eager, ObserversWithoutAScaleLeaveTensorsFloat) {
  const auto net = make_net();
  QConfig qconfig = get_default_qconfig("fbgemm");
  qconfig.activation.observer = "placeholder";
  const PreparedModel prepared = prepare(net, {images(1)}, qconfig);
  EXPECT_EQ(prepared.plan().count(Role::kActivation), 0);
  EXPECT_EQ(prepared.plan().count(Role::kWeight), 3);
}

// An addition at the scale of its first operand.
TEST(Eager, AnOutputReusesTheScaleOfItsInput) {
  const auto net = make_net();
  EagerModel model = model_of(net);
  QConfig reuse = get_default_qconfig("fbgemm");
  reuse.activation.observer = "reuse_input";
  model.qconfig.set_object_type("Add", reuse);
  PreparedModel prepared = prepare(model);
  const PlanEntry* sum = nullptr;
  for (const PlanEntry& entry : prepared.plan().entries)
    if (!entry.shared_with.empty()) sum = &entry;
  ASSERT_TRUE(sum) << entries_of(prepared.plan());
  EXPECT_EQ(sum->shared_with, "conv2");
  EXPECT_EQ(sum->observer, "histogram");
  prepared.forward(images(8));
  prepared.finish();
  EXPECT_EQ(qparams_of(*quantizer_of(prepared.graph(), sum->value)),
            qparams_of(*quantizer_of(prepared.graph(), "conv2")));
  model.qconfig = {};
  model.qconfig.set_global(reuse);
  EXPECT_NE(
      message_of([&] { prepare(model); }).find("observer 'reuse_input': nothing that the layer reads is quantized"),
      std::string::npos);
  reuse.activation = get_default_qconfig("fbgemm").activation;
  reuse.weight.observer = "reuse_input";
  model.qconfig.set_global(reuse);
  EXPECT_NE(message_of([&] { prepare(model); }).find("observer 'reuse_input' finds no scale"), std::string::npos);
}

TEST(Eager, FloatFunctionalHasNoForward) {
  FloatFunctional functional;
  const at::Tensor a = at::tensor({1.0F, -3.0F}), b = at::tensor({1.0F, 2.0F});
  EXPECT_TRUE(at::equal(functional.add(a, b), at::tensor({2.0F, -1.0F})));
  EXPECT_TRUE(at::equal(functional.mul(a, b), at::tensor({1.0F, -6.0F})));
  EXPECT_TRUE(at::equal(functional.add_relu(a, b), at::tensor({2.0F, 0.0F})));
  EXPECT_TRUE(at::equal(functional.add_scalar(a, 1), at::tensor({2.0F, -2.0F})));
  EXPECT_TRUE(at::equal(functional.mul_scalar(a, 2), at::tensor({2.0F, -6.0F})));
  EXPECT_EQ(functional.cat({a, b}).numel(), 4);
  EXPECT_EQ(functional.matmul(a, b).item<float>(), -5.0F);
  EXPECT_NE(message_of([&] { functional.forward(a); }).find("has no forward"), std::string::npos);
}

TEST(Eager, MobileNetV2) {
  const auto net = make_zoo_model("mobilenet_v2");
  at::manual_seed(0);
  const at::Tensor x = at::randn({16, 3, 32, 32});
  // Fresh weights shrink the signal layer by layer to nothing, unless BatchNorm has seen data.
  for (const auto& module : net->modules())
    if (auto* norm = module->as<nn::BatchNorm2d>()) norm->options.momentum(1.0);
  net->forward(x);
  net->eval();
  const at::Tensor expected = net->forward(x);
  PreparedModel prepared = prepare(net, {at::randn({1, 3, 32, 32})}, get_default_qconfig("fbgemm"));
  EXPECT_EQ(prepared.plan().count(Role::kWeight), 53);
  EXPECT_EQ(prepared.plan().count(Role::kActivation), 65);  // 64 of torch, and the mean in front of the classifier
  prepared.forward(x);
  prepared.finish();
  const at::Tensor quantized = prepared.forward(x);
  EXPECT_TRUE(quantized.isfinite().all().item<bool>());
  EXPECT_EQ(quantized.sizes(), expected.sizes());
}

}  // namespace
}  // namespace quench
