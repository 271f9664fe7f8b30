// The executor on a GPU. Without one every test here says so and is skipped.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "graph/tensor_types.h"
#include "quench/executor.h"
#include "quench/torch.h"
#include "quench/zoo_net.h"

namespace quench {
namespace {

#define NEEDS_CUDA()  \
  if (!at::hasCUDA()) \
  GTEST_SKIP() << "this LibTorch sees no CUDA device: the GPU half of the executor is not tested here"

TEST(Cuda, RunsAGraphWhoseConstantsLieOnTheCpu) {
  NEEDS_CUDA();
  auto net = make_zoo_model("resnet20_cifar");
  net->eval();
  const Graph graph = from_module(*net, {at::zeros({2, 3, 32, 32})});
  const at::Tensor x = at::randn({8, 3, 32, 32});
  Executor gpu(graph, {.device = "cuda"}), cpu(graph);
  const at::Tensor on_gpu = gpu.run({RtValue(x)})[0].tensor();
  EXPECT_TRUE(on_gpu.is_cuda());
  // Sums of up to 576 products in another order, over 20 layers; TF32 is off by default for matmul but on
  // for cuDNN convolutions (10 bits of mantissa: relative steps of 1e-3 per layer).
  EXPECT_TRUE(at::allclose(on_gpu.cpu(), cpu.run({RtValue(x)})[0].tensor(), 2e-2, 2e-2));
}

TEST(Cuda, ShapesStayOnTheCpu) {
  NEEDS_CUDA();
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[N, 4]
    const %minus : int64[1] = {-1}
    %s = Shape "s" (%x) : int64[2]
    %p = ReduceProd "p" (%s) {keepdims = 1} : int64[1]
    %y = Reshape "y" (%x, %p) : float[?]
    output %y
    output %s
  })");
  const auto outputs = Executor(graph, {.device = "cuda"}).run({RtValue(at::randn({3, 4}))});
  EXPECT_EQ(outputs[0].tensor().numel(), 12);
  EXPECT_TRUE(outputs[0].tensor().is_cuda());
  EXPECT_TRUE(outputs[1].tensor().is_cpu());
}

TEST(Cuda, TrainsTheModulesOwnTensorsLikeTheModule) {
  NEEDS_CUDA();
  at::globalContext().setDeterministicCuDNN(true);
  auto by_module = make_zoo_model("resnet20_cifar"), by_graph = make_zoo_model("resnet20_cifar");
  by_module->to(at::kCUDA);
  by_graph->to(at::kCUDA);
  const Graph graph = from_module(*by_graph, {at::zeros({2, 3, 32, 32}, at::kCUDA)});
  Executor executor(graph, {.training = true, .grad = true, .device = "cuda"});
  by_module->train();
  const at::Tensor x = at::randn({8, 3, 32, 32}, at::kCUDA), y = at::randint(0, 10, {8}, at::kLong).to(at::kCUDA);
  at::cross_entropy_loss(by_module->forward(x), y).backward();
  at::cross_entropy_loss(executor.run({RtValue(x)})[0].tensor(), y).backward();
  const auto expected = by_module->named_parameters();
  for (const auto& item : by_graph->named_parameters())
    EXPECT_TRUE(at::allclose(item.value().grad(), expected[item.key()].grad(), 1e-3, 1e-4)) << item.key();
}

}  // namespace
}  // namespace quench
