#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "quench/distributed.h"
#include "support/expect_error.h"
#include "support/together.h"

namespace quench {
namespace {

// Three layers of 40 x 40, each with a bias, and a weight that no forward uses.
std::vector<at::Tensor> make_parameters() {
  at::manual_seed(3);
  std::vector<at::Tensor> parameters;
  for (int layer = 0; layer < 3; ++layer) {
    parameters.push_back((at::randn({40, 40}) * 0.3).set_requires_grad(true));
    parameters.push_back(at::randn({40}).set_requires_grad(true));
  }
  parameters.push_back(at::ones({5}).set_requires_grad(true));
  return parameters;
}

at::Tensor data_of(int rank, int step) {
  at::manual_seed(100 * step + rank);
  return at::randn({8, 40});
}

at::Tensor loss_of(const std::vector<at::Tensor>& parameters, const at::Tensor& x, int layers = 3) {
  at::Tensor y = x;
  for (int layer = 0; layer < layers; ++layer) {
    const auto first = static_cast<std::size_t>(2 * layer);
    y = at::tanh(at::matmul(y, parameters[first]) + parameters[first + 1]);
  }
  return y.pow(2).mean();
}

// What one process computes of each rank's data, added in order of the ranks and divided.
std::vector<at::Tensor> mean_gradients(int size, int step, const std::function<int(int rank)>& layers) {
  const std::vector<at::Tensor> parameters = make_parameters();
  std::vector<at::Tensor> sums(parameters.size());
  for (int rank = 0; rank < size; ++rank) {
    for (const at::Tensor& one : parameters) one.mutable_grad() = at::Tensor();
    loss_of(parameters, data_of(rank, step), layers(rank)).backward();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const at::Tensor& gradient = parameters[i].grad();
      if (gradient.defined()) sums[i] = sums[i].defined() ? sums[i] + gradient : gradient.clone();
    }
  }
  for (at::Tensor& sum : sums)
    if (sum.defined()) sum.div_(size);
  return sums;
}

// Two addends are added in one way only; of more, Gloo's order is another than ours: each sum of n terms is off by at
// most n - 1 roundings of the largest partial sum.
void expect_means(const Processes& processes, const std::vector<at::Tensor>& parameters,
                  const std::vector<at::Tensor>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const at::Tensor& found = parameters[i].grad();
    ASSERT_EQ(found.defined(), wanted[i].defined()) << i;
    if (!found.defined()) continue;
    if (processes.size() == 2)
      EXPECT_TRUE(found.equal(wanted[i])) << i;
    else
      EXPECT_TRUE(found.allclose(wanted[i], 0, 1e-6 * wanted[i].abs().max().item<double>())) << i;
    at::Tensor of_first = found.clone();
    processes.broadcast(of_first);
    EXPECT_TRUE(found.equal(of_first)) << i;
  }
}

void expect_averages(const Processes& processes) {
  const std::vector<at::Tensor> parameters = make_parameters();
  AveragedGradients gradients(processes, parameters, 8000);
  const auto all = [](int) { return 3; };
  const auto fewer = [](int rank) { return rank == 0 ? 2 : 3; };  // the first never uses the last layer
  for (int step = 0; step < 4; ++step) {
    const auto layers = step == 2 ? std::function<int(int)>(fewer) : all;
    for (const at::Tensor& one : parameters) one.mutable_grad() = at::Tensor();
    gradients.begin();
    loss_of(parameters, data_of(processes.rank(), step), layers(processes.rank())).backward();
    gradients.finish();
    expect_means(processes, parameters, mean_gradients(processes.size(), step, layers));
    EXPECT_FALSE(parameters.back().grad().defined()) << "nobody had a gradient for it";
    EXPECT_EQ(gradients.buckets(), 3U);  // of 6560 bytes each: the unused one fits into the last
  }
}

// Only the backward after begin() is exchanged: what had accumulated before is part of it.
void expect_accumulation(const Processes& processes) {
  const auto mine = static_cast<float>(processes.rank() + 1);
  const at::Tensor x = at::ones({3}).set_requires_grad(true);
  AveragedGradients gradients(processes, {x});
  for (int step = 0; step < 2; ++step) {
    x.mutable_grad() = at::Tensor();
    (x * mine).sum().backward();
    EXPECT_TRUE(x.grad().equal(at::full({3}, mine)));
    gradients.begin();
    (x * 10 * mine).sum().backward();
    gradients.finish();
    EXPECT_TRUE(x.grad().equal(at::full({3}, 16.5F))) << x.grad();
  }
  EXPECT_ERROR(gradients.finish(), "finish() without begin()");
  gradients.begin();
  x.sum().backward();
  EXPECT_ERROR(x.sum().backward(), "a second backward ran after begin()");
  gradients.finish();
}

TEST(AveragedGradients, AreTheMeanOfTwo) {
  together(2, [](const Processes& processes) {
    expect_averages(processes);
    expect_accumulation(processes);
  });
}
TEST(AveragedGradients, AreTheMeanOfFour) { together(4, expect_averages); }

TEST(AveragedGradients, OneProcessKeepsItsOwn) {
  const Processes one;
  const at::Tensor x = at::ones({3}).set_requires_grad(true);
  AveragedGradients gradients(one, {x});
  gradients.begin();
  (x * 2).sum().backward();
  gradients.finish();
  EXPECT_TRUE(x.grad().equal(at::full({3}, 2.0F)));
  EXPECT_EQ(gradients.buckets(), 0U);
}

TEST(AveragedGradients, RefuseWhatDoesNotLearn) {
  const Processes one;
  EXPECT_ERROR(AveragedGradients(one, {at::ones({3})}), "parameter 0 does not learn");
}

}  // namespace
}  // namespace quench
