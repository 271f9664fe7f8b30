// The fused arithmetic of live norms, and the first layer's gradients in one, on CUDA against the CPU.
#include "kernels/norm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "quench/executor.h"
#include "quench/pass.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

using at::Tensor;

#define NEEDS_CUDA() \
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device"

struct Norm {
  explicit Norm(const Tensor& layer_weight) : weight(layer_weight) {
    const std::int64_t channels = weight.size(0);
    gamma = at::randn({channels}, weight.options());
    gamma.select(0, 0).fill_(1e-9F);  // the factor is kept from 0
    variance = at::rand({channels}, weight.options()) + 0.1;
    mean = at::randn({channels}, weight.options());
    beta = at::randn({channels}, weight.options());
  }
  Norm cuda() const {
    Norm there = *this;
    for (Tensor* tensor : {&there.weight, &there.gamma, &there.variance, &there.mean, &there.beta})
      *tensor = tensor->cuda();
    return there;
  }
  NormWeightIn in(bool folds) const {
    return {weight, gamma, variance, folds ? mean : none, folds ? beta : none, none, 1e-5, 1e-5};
  }
  Tensor weight, gamma, variance, mean, beta, none;
};

TEST(NormOnCuda, WeightsEqualTheCpu) {
  NEEDS_CUDA();
  at::manual_seed(1);
  for (const Tensor& w : {at::randn({7, 3, 3, 3}), at::randn({64, 32, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast),
                          at::randn({5, 2000})})
    for (const bool folds : {false, true}) {
      const Norm here(w), there = here.cuda();
      ASSERT_TRUE(fits_norm_weight(there.in(folds)));
      const NormWeightOut expected = norm_weight_forward(here.in(folds)), found = norm_weight_forward(there.in(folds));
      std::vector<Tensor> gradients, moved;
      for (std::size_t i = 0; i < expected.results.size(); ++i) {
        EXPECT_TRUE(at::equal(found.results[i].cpu(), expected.results[i])) << i;
        gradients.push_back(at::randn_like(expected.results[i]));
        moved.push_back(gradients.back().cuda());
      }
      const auto wanted = norm_weight_backward(gradients, {here.weight, here.gamma, expected.kept, 1e-5});
      const auto got = norm_weight_backward(moved, {there.weight, there.gamma, found.kept, 1e-5});
      EXPECT_TRUE(at::equal(got[0].cpu(), wanted[0]));
      // Sums of up to 2000 products in another order.
      EXPECT_TRUE(at::allclose(got[1].cpu(), wanted[1], 1e-4, 1e-4));
    }
}

struct Trained {
  Tensor y, dw, ds;
};

// x -> lsq -> Conv -> y, on a device.
Trained input_conv(const std::string& device, const std::string& scheme) {
  at::manual_seed(2);
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2, 3, 9, 9}));
  Value& w = graph.add_constant("w", at::randn({4, 3, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast));
  Node& conv = graph.add("Conv", "conv", {&x, &w});
  conv.attrs["strides"] = std::vector<std::int64_t>{2, 1};
  conv.attrs["pads"] = std::vector<std::int64_t>{1, 0, 1, 2};
  graph.add_output(conv.output());
  insert_fake_quant(graph, x, {"lsq", QScheme::parse(scheme), Role::kActivation, QuantizeBy::kReciprocal, {}},
                    {.quantize = true});
  graph.value("x.fq.scale").tensor().detach().fill_(0.11F);
  w.set_parameter(true);
  run_passes(graph, {"skip_input_gradients"});
  for (const Value* constant : graph.constants())
    if (constant->tensor().is_floating_point())
      Tensor(constant->tensor()).set_data(constant->tensor().detach().to(c10::Device(device)));
  for (const Value* value : graph.parameters()) value->tensor().requires_grad_();
  ExecOptions options;
  options.grad = options.training = options.channels_last = true;
  options.device = device;
  const Tensor images = at::randn({2, 3, 9, 9}).contiguous(at::MemoryFormat::ChannelsLast).to(c10::Device(device));
  const Tensor y = Executor(graph, options).run({RtValue(images)})[0].tensor();
  y.backward(at::randn(y.sizes()).to(c10::Device(device)));
  return {y.detach().cpu(), graph.value("w").tensor().grad().cpu(), graph.value("x.fq.scale").tensor().grad().cpu()};
}

TEST(NormOnCuda, TheFirstLayersGradientsEqualTheCpu) {
  NEEDS_CUDA();
  at::globalContext().setAllowTF32CuDNN(false);
  for (const char* scheme : {"int4 symmetric tensor", "uint4 affine tensor"}) {
    const Trained here = input_conv("cpu", scheme), there = input_conv("cuda", scheme);
    EXPECT_TRUE(at::allclose(there.y, here.y, 1e-4, 1e-5));
    EXPECT_TRUE(at::allclose(there.dw, here.dw, 1e-3, 1e-4));
    EXPECT_TRUE(at::allclose(there.ds, here.ds, 1e-3, 1e-4)) << there.ds << here.ds;
  }
  at::globalContext().setAllowTF32CuDNN(true);
}

}  // namespace
}  // namespace quench
