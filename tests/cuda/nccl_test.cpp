// Tensors on a GPU between processes: by NCCL, or through the CPU where processes share a GPU.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "distributed/backends.h"
#include "support/together.h"

namespace quench {
namespace {

TEST(Nccl, AddsUpOnItsGpu) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto backend = nccl_backend(*store, ProcessPlace{}, 0);
  if (!backend) GTEST_SKIP() << "this build has no NCCL";
  std::vector<at::Tensor> tensors = {at::arange(1000, at::kFloat).cuda()};
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::SUM;
  backend->allreduce(tensors, options)->wait();
  backend->broadcast(tensors)->wait();
  EXPECT_TRUE(at::equal(tensors[0].cpu(), at::arange(1000, at::kFloat)));
}

TEST(Nccl, ProcessesThatShareAGpuGoThroughTheCpu) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
  together(2, [](const Processes& processes) {
    const c10::Device device(at::kCUDA, 0);
    at::Tensor mine = at::full({5}, processes.rank() + 1.0, at::TensorOptions(device));
    processes.sum(mine);
    EXPECT_TRUE(at::equal(mine.cpu(), at::full({5}, 3.0)));
    at::Tensor parameter = at::ones({3}, at::TensorOptions(device)).requires_grad_();
    AveragedGradients gradients(processes, {parameter});
    for (int step = 0; step < 3; ++step) {
      parameter.mutable_grad() = at::Tensor();
      gradients.begin();
      (parameter * (processes.rank() * 2.0)).sum().backward();
      gradients.finish();
      EXPECT_TRUE(at::equal(parameter.grad().cpu(), at::ones({3})));
    }
  });
}

}  // namespace
}  // namespace quench
