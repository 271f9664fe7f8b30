// Optimizer against torch::optim, and its state.
#include "qat/optimizer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include "support/expect_error.h"

namespace quench {
namespace {

struct Parameters {
  Graph graph;
  std::vector<TrainedParameter> list;
  std::vector<at::Tensor> tensors;

  Parameters() {
    at::manual_seed(0);
    for (const auto& [name, kind] :
         {std::pair("scale", ParameterKind::kQuantizer), {"weight", ParameterKind::kWeight}}) {
      const at::Tensor tensor = kind == ParameterKind::kWeight ? at::randn({3, 4}) : at::randn({});
      Value& value = graph.add_constant(name, tensor.requires_grad_());
      list.push_back({&value, kind});
      tensors.push_back(value.tensor());
    }
  }
  // The gradient of a sum of squares, times a number that changes.
  void make_gradients(int step) const {
    for (const at::Tensor& tensor : tensors) at::Tensor(tensor).mutable_grad() = tensor.detach() * (1.0 + step);
  }
};

template <typename Reference, typename ReferenceOptions>
void expect_same(const OptimizerOptions& options, ReferenceOptions weights, ReferenceOptions scales) {
  Parameters ours, theirs;
  Optimizer optimizer(ours.list, options);
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<at::Tensor>{theirs.tensors[0]}, std::make_unique<ReferenceOptions>(scales));
  groups.emplace_back(std::vector<at::Tensor>{theirs.tensors[1]}, std::make_unique<ReferenceOptions>(weights));
  Reference reference(groups, scales);  // a zero of a group would be taken for "not said", and become the default
  for (int step = 0; step < 5; ++step) {
    ours.make_gradients(step);
    theirs.make_gradients(step);
    optimizer.step(1.0);
    reference.step();
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_TRUE(at::allclose(ours.tensors[i], theirs.tensors[i], 1e-5, 1e-7))
          << options.name << " step " << step << "\n"
          << ours.tensors[i] << theirs.tensors[i];
  }
}

TEST(Optimizer, IsTorchsWithAGroupForQuantizers) {
  OptimizerOptions options;
  options.lr = 0.1;
  options.scale_lr = 0.01;
  options.weight_decay = 0.2;
  const auto sgd = [](double lr, double decay) {
    return torch::optim::SGDOptions(lr).momentum(0.9).nesterov(true).weight_decay(decay);
  };
  expect_same<torch::optim::SGD>(options, sgd(0.1, 0.2), sgd(0.01, 0.0));
  options.name = "adam";
  expect_same<torch::optim::Adam>(options, torch::optim::AdamOptions(0.1).weight_decay(0.2),
                                  torch::optim::AdamOptions(0.01));
  options.name = "adamw";
  expect_same<torch::optim::AdamW>(options, torch::optim::AdamWOptions(0.1).weight_decay(0.2),
                                   torch::optim::AdamWOptions(0.01).weight_decay(0.0));
}

// However large its gradient: one that passes through 0 never recovers.
TEST(Optimizer, AScaleMovesByAtMostATenthOfItself) {
  for (const char* name : {"sgd", "adam", "adamw"}) {
    Graph graph;
    const at::Tensor scales = at::tensor({0.5, 1e-3, -2.0}, at::kFloat).requires_grad_();
    const at::Tensor zero_point = at::tensor({3.0}, at::kFloat).requires_grad_();
    const Value &scale = graph.add_constant("scale", scales), &other = graph.add_constant("zero_point", zero_point);
    OptimizerOptions options;
    options.name = name;
    options.lr = 10;
    Optimizer optimizer({{&scale, ParameterKind::kScale}, {&other, ParameterKind::kQuantizer}}, options);
    scale.tensor().mutable_grad() = at::tensor({1e-6, 1e3, 1e3}, at::kFloat);
    other.tensor().mutable_grad() = at::tensor({7.0}, at::kFloat);
    optimizer.step(1.0);
    const at::Tensor now = scale.tensor().detach();
    EXPECT_TRUE(at::allclose(now.slice(0, 1), at::tensor({0.9e-3, -2.2}, at::kFloat), 1e-5)) << name << now;
    if (std::string(name) == "sgd") {
      EXPECT_NEAR(now[0].item<double>(), 0.5 - 1e-6 * 1.9, 1e-7);  // a tenth of the rate; with Nesterov's momentum
      EXPECT_LT(other.tensor().item<double>(), -5);                // zero points go where they go
    }
  }
}

TEST(Optimizer, ItsStateGoesOn) {
  OptimizerOptions options;
  options.name = "adam";
  Parameters first, second;
  Optimizer one(first.list, options), two(second.list, options);
  first.make_gradients(0);
  one.step(1.0);
  second.make_gradients(0);
  two.step(1.0);
  Optimizer three(second.list, options);
  TensorMap kept;
  for (const auto& [name, tensor] : two.state()) kept.emplace(name, tensor.clone());
  three.load(kept);
  first.make_gradients(1);
  second.make_gradients(1);
  one.step(0.5);
  three.step(0.5);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(at::equal(first.tensors[i], second.tensors[i]));
  kept.erase(kept.begin());
  EXPECT_ERROR(three.load(kept), "is missing or has another shape");
}

TEST(Optimizer, ClipsTheNetworksGradientsAlone) {
  Parameters parameters;
  Optimizer optimizer(parameters.list, {});
  parameters.make_gradients(100);
  const at::Tensor scale = parameters.tensors[0].grad().clone();
  optimizer.clip(1.0);
  EXPECT_NEAR(parameters.tensors[1].grad().norm().item<double>(), 1.0, 1e-4);
  EXPECT_TRUE(at::equal(parameters.tensors[0].grad(), scale));
  const at::Tensor small = parameters.tensors[1].grad().clone();
  optimizer.clip(10.0);
  EXPECT_TRUE(at::equal(parameters.tensors[1].grad(), small));
}

}  // namespace
}  // namespace quench
