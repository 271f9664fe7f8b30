// A module with quantizers that moves to the GPU and trains there.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/optim/sgd.h>

#include "qat/stubbed_net.h"

namespace quench {
namespace {

void expect_training(const QConfig& qconfig) {
  const auto net = make_net();
  const auto q = prepare_qat(net, {images(1)}, qconfig);
  q->to(at::kCUDA);
  EXPECT_TRUE(net->conv->weight.is_cuda());
  torch::optim::SGD optimizer(q->parameters(), 0.05);
  for (int i = 0; i < 5; ++i) {
    optimizer.zero_grad();
    const at::Tensor target = at::arange(16, at::kLong).remainder(5).cuda();
    at::cross_entropy_loss(q->forward(images(16).cuda()), target).backward();
    optimizer.step();
  }
  for (const auto& item : q->named_parameters()) {
    EXPECT_TRUE(item.value().is_cuda()) << item.key();
    EXPECT_TRUE(item.value().grad().defined()) << item.key();
  }
  q->eval();
  const at::Tensor x = images(32), simulated = q->forward(x.cuda()).detach().cpu();
  const at::Tensor integers = convert(*q).run({x})[0].tensor();
  EXPECT_GE((simulated.argmax(1) == integers.argmax(1)).to(at::kDouble).mean().item<double>(), 0.9);
  q->to(at::kCPU);
  EXPECT_TRUE(at::allclose(q->forward(x).detach(), simulated, 0.05, 0.05));
}

TEST(QatModuleOnCuda, FollowsObserversThere) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
  expect_training(get_default_qat_qconfig("fbgemm"));
}

TEST(QatModuleOnCuda, LearnsScalesThere) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
  QConfig qconfig = get_default_qconfig("fbgemm");
  qconfig.activation.fake_quant = qconfig.activation.observer = "lsq_plus";
  qconfig.weight.fake_quant = qconfig.weight.observer = "lsq";
  expect_training(qconfig);
}

}  // namespace
}  // namespace quench
