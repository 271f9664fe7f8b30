// Every fake quantizer on CUDA gives what it gives on the CPU.
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <gtest/gtest.h>

#include "fake_quant/samples.h"
#include "quench/executor.h"
#include "quench/export.h"
#include "quench/graph.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

class FakeQuantOnCuda : public testing::TestWithParam<std::string> {};

struct Pass {
  at::Tensor y, dx;
  std::map<std::string, at::Tensor> gradients;
};

Pass forward_backward(Quantizer& quantizer, const at::Tensor& data, const at::Tensor& dy) {
  const at::Tensor x = data.detach().clone().requires_grad_();
  const at::Tensor y = quantizer(x, {1, 2, 3});
  y.backward(dy);
  Pass pass{y.detach().cpu(), x.grad().cpu(), {}};
  for (const auto& [name, tensor] : quantizer.parameters())
    if (tensor.grad().defined()) pass.gradients[name] = tensor.grad().cpu();
  return pass;
}

TEST_P(FakeQuantOnCuda, EqualsTheCpu) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
  const FakeQuantSpec spec = spec_for(GetParam());
  const at::Tensor x = sample({4, 5, 16, 17}), dy = sample({4, 5, 16, 17}, 2);
  Quantizer on_cpu = quantizing(spec, x), on_cuda = quantizing(spec, x);
  on_cuda.to("cuda");
  const Pass cpu = forward_backward(on_cpu, x, dy), cuda = forward_backward(on_cuda, x.cuda(), dy.cuda());
  // tanh, log2 and exp2 of LibTorch differ by an ulp between devices; all else is our own arithmetic.
  if (GetParam() == "dorefa" || GetParam() == "nnie") {
    EXPECT_GT((cuda.y == cpu.y).to(at::kFloat).mean().item<float>(), 0.99F);
  } else {
    EXPECT_TRUE(at::equal(cuda.y, cpu.y));
  }
  EXPECT_TRUE(at::allclose(cuda.dx, cpu.dx, 1e-4, 1e-5));
  ASSERT_EQ(cuda.gradients.size(), cpu.gradients.size());
  for (const auto& [name, gradient] : cpu.gradients) {
    // 5440 float32 terms in another order.
    EXPECT_TRUE(at::allclose(cuda.gradients.at(name), gradient, 1e-3, 1e-4)) << name;
  }
}

TEST_P(FakeQuantOnCuda, IsCalibratedThere) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
  const FakeQuantSpec spec = spec_for(GetParam());
  if (GetParam() == "dorefa") return;  // tanh differs by an ulp
  const at::Tensor x = sample({4, 5, 16, 17});
  const Quantizer cpu = quantizing(spec, x);
  Quantizer cuda(spec, x.sizes().vec(), make_observer("min_max", spec.scheme));
  cuda.to("cuda");
  cuda.flags.observe = true;
  cuda(x.cuda());
  cuda.calibrated();
  EXPECT_TRUE(at::equal(cuda.tensors().scale().detach().cpu(), cpu.tensors().scale().detach()));
  EXPECT_TRUE(at::equal(cuda.tensors().zero_point().detach().cpu(), cpu.tensors().zero_point().detach()));
}

INSTANTIATE_TEST_SUITE_P(All, FakeQuantOnCuda, testing::ValuesIn(FakeQuantRegistry::instance().names()),
                         [](const auto& one) { return one.param; });

// The state of a node follows the data for good: what a forward or an optimizer writes is the graph's own tensor.
TEST(FakeQuantNodeOnCuda, TrainsTheGraphsOwnTensors) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 4}));
  graph.add_output(graph.add("Relu", "relu", {&x}).output());
  insert_fake_quant(graph, graph.value("relu"), spec_of("lsq", "uint4 symmetric tensor"), {.quantize = true});
  const at::Tensor scale = graph.value("relu.fq.scale").tensor();
  scale.detach().fill_(-0.25F);
  ExecOptions options;
  options.device = "cuda";
  options.grad = true;
  Executor executor(graph, options);
  executor.run({RtValue(sample({8, 4}))})[0].tensor().sum().backward();
  EXPECT_TRUE(scale.is_cuda());
  EXPECT_EQ(scale.item<float>(), 0.25F);
  EXPECT_TRUE(scale.grad().defined());
  EXPECT_TRUE(graph.value("relu.fq.scale").tensor().is_same(scale));
  EXPECT_FALSE(export_onnx_bytes(graph).empty());
}

class ObserverOnCuda : public testing::TestWithParam<std::string> {};

TEST_P(ObserverOnCuda, EqualsTheCpu) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
  const QScheme scheme = QScheme::parse("int8 symmetric tensor");
  if (!ObserverRegistry::instance().get(GetParam()).needs_data) return;  // is told its result
  const auto cpu = make_observer(GetParam(), scheme), cuda = make_observer(GetParam(), scheme);
  for (int batch = 0; batch < 3; ++batch) {
    const at::Tensor x = sample({4, 5, 16, 17}, batch);
    cpu->observe(x);
    cuda->observe(x.cuda());
  }
  const QParams expected = cpu->qparams(), found = cuda->qparams();
  ASSERT_EQ(found.scale.size(), expected.scale.size());
  // Sums in another order.
  EXPECT_NEAR(found.scale[0], expected.scale[0], expected.scale[0] * 1e-5F);
  EXPECT_EQ(found.zero_point, expected.zero_point);
}

INSTANTIATE_TEST_SUITE_P(All, ObserverOnCuda, testing::ValuesIn(ObserverRegistry::instance().names()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace quench
