// mmrazor's modes on one graph.
#include "quench/heads.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/optim/sgd.h>

#include "qat/stubbed_net.h"
#include "support/expect_error.h"

namespace quench {
namespace {

at::Tensor labels(std::int64_t count) { return at::arange(count, at::kLong).remainder(5); }

TEST(Heads, AreFunctionsOfTheOneOutput) {
  const auto q = prepare_qat(make_net(), {images(1)}, get_default_qat_qconfig("fbgemm"));
  q->forward(images(8));  // finds scales
  q->eval();
  const at::Tensor x = images(6), logits = q->forward(x);
  EXPECT_TRUE(at::equal(q->forward_mode({x}, "tensor")[0], logits));
  const at::Tensor scores = q->forward_mode({x}, "predict")[0];
  EXPECT_TRUE(at::equal(scores, logits.softmax(1)));
  EXPECT_TRUE(at::equal(q->forward_mode({x}, "loss", {labels(6)})[0], at::cross_entropy_loss(logits, labels(6))));
}

// The loss trains, and what it learned is there in the other modes: the quantizers are the same.
TEST(Heads, ShareTheirQuantizers) {
  const auto q = prepare_qat(make_net(), {images(1)}, get_default_qat_qconfig("fbgemm"));
  torch::optim::SGD optimizer(q->parameters(), 0.1);
  const at::Tensor x = images(20);
  const auto right = [&] {
    q->eval();
    const at::Tensor scores = q->forward_mode({x}, "predict")[0];
    q->train();
    return (scores.argmax(1) == labels(20)).to(at::kDouble).mean().item<double>();
  };
  q->forward_mode({x}, "tensor");
  const double before = right();
  double first = 0, last = 0;
  for (int i = 0; i < 60; ++i) {
    optimizer.zero_grad();
    const at::Tensor loss = q->forward_mode({x}, "loss", {labels(20)})[0];
    loss.backward();
    optimizer.step();
    (i == 0 ? first : last) = loss.item<double>();
  }
  EXPECT_LT(last, 0.7 * first);
  EXPECT_GT(right(), before);
}

TEST(Heads, MayBeYourOwn) {
  const auto q = prepare_qat(make_net(), {images(1)}, get_default_qat_qconfig("fbgemm"));
  const at::Tensor x = images(4);
  q->set_head("loss", [](const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& targets) {
    return std::vector<at::Tensor>{at::mse_loss(outputs[0], targets[0])};
  });
  q->set_head("top", [](const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>&) {
    return std::vector<at::Tensor>{outputs[0].argmax(1)};
  });
  EXPECT_EQ(q->forward_mode({x}, "loss", {at::zeros({4, 5})})[0].dim(), 0);
  EXPECT_EQ(q->forward_mode({x}, "top")[0].scalar_type(), at::kLong);
}

TEST(Heads, WhatDoesNotFitIsRefused) {
  const Heads heads;
  EXPECT_EQ(heads.names(), (std::vector<std::string>{"loss", "predict", "tensor"}));
  const std::vector<at::Tensor> logits = {at::randn({3, 5})};
  EXPECT_ERROR(heads.apply("predicted", logits), "unknown head 'predicted'", "predict");
  EXPECT_ERROR(heads.apply("loss", logits), "needs one tensor of targets");
  EXPECT_ERROR(heads.apply("loss", logits, {labels(4)}), "a class number (int64) for each of 3 items");
  EXPECT_ERROR(heads.apply("predict", {at::randn({3})}), "logits of [batch, classes]");
  EXPECT_ERROR(heads.apply("predict", {at::randn({3, 5, 4, 4})}), "logits of [batch, classes]");  // of pixels
}

}  // namespace
}  // namespace quench
