// Qconfigs of submodules that have no tensors, and qconfigs that leave weights or activations float.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "quench/convert.h"
#include "quench/eager.h"
#include "quench/zoo_net.h"
#include "support/expect_error.h"

namespace quench {
namespace {

namespace nn = torch::nn;

nn::Conv2d conv(std::int64_t in, std::int64_t out) { return nn::Conv2d(nn::Conv2dOptions(in, out, 1)); }

// quant -> conv -> skip_add (with a second convolution) -> relu -> fc -> dequant
struct Residual : nn::Module {
  at::Tensor forward(at::Tensor x) {
    x = first(quant->forward(x));
    x = relu(skip_add->add(second(x), x));
    return dequant->forward(fc(at::flatten(x, 1)));
  }
  std::shared_ptr<QuantStub> quant = register_module("quant", std::make_shared<QuantStub>());
  nn::Conv2d first = register_module("first", conv(2, 4)), second = register_module("second", conv(4, 4));
  std::shared_ptr<FloatFunctional> skip_add = register_module("skip_add", std::make_shared<FloatFunctional>());
  nn::ReLU relu = register_module("relu", nn::ReLU());
  nn::Linear fc = register_module("fc", nn::Linear(4 * 16, 5));
  std::shared_ptr<DeQuantStub> dequant = register_module("dequant", std::make_shared<DeQuantStub>());
};

at::Tensor images(std::int64_t count) { return at::randn({count, 2, 4, 4}); }

template <typename M>
EagerModel model_of(const std::shared_ptr<M>& net) {
  net->eval();
  EagerModel model(net, {images(1)});
  model.qconfig.set_global(get_default_qconfig("fbgemm"));
  return model;
}

std::string reason_of(const QuantPlan& plan, const std::string& value) {
  for (const PlanSkip& skip : plan.skipped)
    if (skip.value == value) return skip.reason;
  return "";
}

// Tensors that are quantized on behalf of a layer that reads them, since a float layer wrote them.
int inputs_of_islands(const QuantPlan& plan) {
  int count = 0;
  for (const PlanEntry& entry : plan.entries) count += entry.rule.starts_with("float input of");
  return count;
}

const std::string kSum = "second.relu";

TEST(EagerQConfig, OfAFloatFunctionalByName) {
  EagerModel model = model_of(std::make_shared<Residual>());
  EXPECT_TRUE(prepare(model).plan().find(kSum));
  model.qconfig.set_module_name("skip_add", std::nullopt);
  PreparedModel prepared = prepare(model);
  EXPECT_TRUE(prepared.plan().find("second.weight"));
  // An island: what fc reads is quantized again.
  EXPECT_FALSE(prepared.plan().find(kSum));
  EXPECT_EQ(reason_of(prepared.plan(), kSum), "'second.add' is kept in float by the user");
  EXPECT_EQ(inputs_of_islands(prepared.plan()), 1);
  prepared.forward(images(8));
  prepared.finish();
  EXPECT_EQ(prepared.forward(images(3)).sizes(), at::IntArrayRef({3, 5}));
}

TEST(EagerQConfig, OfAFloatFunctionalByTypeOrRegex) {
  QConfig mine = get_default_qconfig("fbgemm");
  mine.activation.observer = "min_max";
  EagerModel model = model_of(std::make_shared<Residual>());
  model.qconfig.set_object_type("FloatFunctional", mine);
  EXPECT_EQ(prepare(model).plan().find(kSum)->observer, "min_max");
  EXPECT_EQ(prepare(model).plan().find("second")->observer, "histogram");
  model = model_of(std::make_shared<Residual>());
  model.qconfig.set_module_name_regex("skip_.*", mine);
  EXPECT_EQ(prepare(model).plan().find(kSum)->observer, "min_max");
}

TEST(EagerQConfig, OfTheQuantStub) {
  QConfig eight = get_default_qconfig("fbgemm");
  eight.activation.bits = 8;
  EagerModel model = model_of(std::make_shared<Residual>());
  model.qconfig.set_module_name("quant", eight);
  const PreparedModel prepared = prepare(model);
  EXPECT_EQ(prepared.plan().find("quant_stub")->scheme.bits(), 8);
  EXPECT_EQ(prepared.plan().find("first")->scheme.bits(), 7);
}

TEST(EagerQConfig, OfEveryFloatFunctionalOfTheZoo) {
  const auto net = make_zoo_model("mobilenet_v2", {.num_classes = 5, .quantizable = true});
  replace_relu6(*net);
  net->eval();
  EagerModel model(net, {at::randn({1, 3, 32, 32})});
  model.qconfig.set_global(get_default_qconfig("qnnpack"));
  model.qconfig.set_module_name("features.3.skip_add", std::nullopt).set_module_name("features.16.skip_add", {});
  EXPECT_EQ(inputs_of_islands(prepare(model).plan()), 2);
  // The block has one, but its forward never calls it.
  model.qconfig.set_module_name("features.2.skip_add", std::nullopt);
  EXPECT_ERROR(prepare(model), "the qconfig of 'features.2.skip_add' matches no layer");
}

// Sums that no FloatFunctional wrote, and FloatFunctionals that nothing calls, leave room for doubt.
TEST(EagerQConfig, WhatCannotBeToldIsAnError) {
  struct Plain : Residual {
    at::Tensor forward(const at::Tensor& x) {
      const at::Tensor y = first(quant->forward(x)), z = at::add(second(y), y);
      return dequant->forward(fc(at::flatten(skip_add->add(z, y), 1)));
    }
  };
  struct Spare : Residual {
    std::shared_ptr<FloatFunctional> spare = register_module("spare", std::make_shared<FloatFunctional>());
  };
  EagerModel plain = model_of(std::make_shared<Plain>()), spare = model_of(std::make_shared<Spare>());
  for (EagerModel* model : {&plain, &spare}) {
    EXPECT_NO_THROW(prepare(*model));
    model->qconfig.set_module_name("skip_add", std::nullopt);
    EXPECT_ERROR(prepare(*model), "the qconfig of 'skip_add' matches no layer", "from its place it cannot be told",
                 "name the node instead");
  }
}

// torch's platforms have no integers for it; what reads it is quantized all the same.
TEST(EagerQConfig, AProductOfActivationsIsAFloatIsland) {
  struct Product : Residual {
    at::Tensor forward(const at::Tensor& x) {
      const at::Tensor y = first(quant->forward(x));
      return dequant->forward(fc(at::flatten(skip_add->matmul(second(y), y), 1)));
    }
  };
  const QuantPlan plan = prepare(model_of(std::make_shared<Product>())).plan();
  EXPECT_EQ(plan.count(Role::kWeight), 3);
  EXPECT_EQ(inputs_of_islands(plan), 1);
}

TEST(EagerQConfig, NoopLeavesWeightsFloat) {
  QConfig qconfig = get_default_qconfig("fbgemm");
  qconfig.weight.observer = "noop";
  const auto net = std::make_shared<Residual>();
  net->eval();
  PreparedModel prepared = prepare(net, {images(1)}, qconfig);
  EXPECT_EQ(prepared.plan().count(Role::kWeight), 0);
  EXPECT_EQ(reason_of(prepared.plan(), "fc.weight"), "the observer 'noop' leaves it float");
  prepared.forward(images(8));
  prepared.finish();
  ConvertRecord record;
  QuantizedModel integers = convert(prepared.model(), {}, &record);
  EXPECT_EQ(record.in_float.empty(), false) << "its layers compute in float";
  EXPECT_EQ(integers.run({images(3)})[0].tensor().sizes(), at::IntArrayRef({3, 5}));
}

TEST(EagerQConfig, NoopOfOneModuleLeavesItFloat) {
  QConfig none = get_default_qconfig("fbgemm");
  none.weight.observer = none.activation.observer = "noop";
  EagerModel model = model_of(std::make_shared<Residual>());
  model.qconfig.set_module_name("second", none);
  const QuantPlan plan = prepare(model).plan();
  for (const char* value : {"second.weight", "second"}) {
    EXPECT_FALSE(plan.find(value)) << value;
    EXPECT_EQ(reason_of(plan, value), "the observer 'noop' leaves it float");
  }
  EXPECT_TRUE(plan.find("first.weight"));
}

// The other way round: the rest of the model has no scales, one module has.
TEST(EagerQConfig, AModuleIsQuantizedWhereNoopIsTheRule) {
  QConfig none = get_default_qconfig("fbgemm");
  none.weight.observer = none.activation.observer = "placeholder";
  EagerModel model = model_of(std::make_shared<Residual>());
  model.qconfig.set_global(none).set_module_name("second", get_default_qconfig("fbgemm"));
  const QuantPlan plan = prepare(model).plan();
  EXPECT_EQ(plan.entries.size(), 2U);
  EXPECT_TRUE(plan.find("second.weight") && plan.find("second"));
}

}  // namespace
}  // namespace quench
