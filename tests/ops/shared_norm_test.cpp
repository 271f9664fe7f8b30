// A batch norm whose batch is shared: two threads with half of the batch each find what one finds with all of it.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <thread>

#include "ops/checked_op.h"
#include "quench/op.h"

namespace quench {
namespace {

constexpr std::int64_t kChannels = 5, kRows = 6;

// x, gamma, beta, mean, variance, and for the live norm k and b.
std::vector<at::Tensor> samples(bool live, at::ScalarType type) {
  at::manual_seed(5);
  const auto some = [&] { return at::randn({kChannels}, type); };
  // The halves have other means and variances than the whole.
  const at::Tensor x = at::randn({kRows, kChannels, 3, 2}, type) * at::arange(1, kRows + 1).reshape({-1, 1, 1, 1}) + 2;
  std::vector<at::Tensor> all = {x.to(type), some(), some(), some(), some().square() + 0.5};
  if (live) all.push_back(at::tensor({0.5, -2.0, 1.0, -0.25, 3.0}).to(type).reshape({1, kChannels, 1, 1}));
  if (live) all.push_back(some());
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i != 3 && i != 4) all[i].requires_grad_();
  return all;
}

// The operator on these rows of x, forward and back; x is what has the gradient of its rows.
at::Tensor played(const std::vector<at::Tensor>& in, const at::Tensor& dz, const BatchShares* shares) {
  const CheckedOp op{.op = in.size() > 5 ? "quench.LiveNorm" : "BatchNormalization",
                     .attrs = {{"epsilon", 0.03}, {"momentum", 0.75}},
                     .training = true,
                     .grad = true,
                     .shares = shares};
  const at::Tensor z = op.result({in.begin(), in.end()});
  z.backward(dz);
  return z.detach();
}

struct Half {
  std::vector<at::Tensor> in;
  at::Tensor dz, z;
};

// The mean over both: the second to come adds up, and both take it.
class Meeting {
 public:
  BatchShares shares_of(std::size_t half) {
    return {2, [this, half](at::Tensor& tensor) {
              given_[half] = tensor.clone();
              both_.arrive_and_wait();
              tensor.copy_((given_[0] + given_[1]) / 2);
              both_.arrive_and_wait();
            }};
  }

 private:
  std::array<at::Tensor, 2> given_;
  std::barrier<> both_{2};
};

std::array<Half, 2> played_in_halves(bool live, at::ScalarType type, const at::Tensor& dz) {
  std::array<Half, 2> halves;
  Meeting meeting;
  for (std::size_t half = 0; half < 2; ++half) {
    const auto begin = static_cast<std::int64_t>(half) * kRows / 2;
    halves[half].in = samples(live, type);
    halves[half].in[0] = halves[half].in[0].detach().narrow(0, begin, kRows / 2).clone().requires_grad_();
    // Of a loss that is a mean over the items: a process's own is over half as many.
    halves[half].dz = dz.narrow(0, begin, kRows / 2) * 2;
  }
  const auto play = [&](std::size_t half) {
    const BatchShares shares = meeting.shares_of(half);
    halves[half].z = played(halves[half].in, halves[half].dz, &shares);
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  return halves;
}

void expect_as_whole(bool live, at::ScalarType type, double tolerance) {
  const std::vector<at::Tensor> whole = samples(live, type);
  const at::Tensor dz = at::randn({kRows, kChannels, 3, 2}, type), z = played(whole, dz, nullptr);
  const std::array<Half, 2> halves = played_in_halves(live, type, dz);
  EXPECT_LT(distance(at::cat({halves[0].z, halves[1].z}), z), tolerance);
  const at::Tensor dx = at::cat({halves[0].in[0].grad(), halves[1].in[0].grad()}) / 2;
  EXPECT_LT(distance(dx, whole[0].grad()), tolerance) << "gradient of x";
  for (std::size_t i = 1; i < whole.size(); ++i) {
    if (i == 3 || i == 4) {
      for (const Half& half : halves) EXPECT_LT(distance(half.in[i], whole[i]), tolerance) << "running " << i;
      continue;
    }
    const at::Tensor mean = (halves[0].in[i].grad() + halves[1].in[i].grad()) / 2;  // as gradients are averaged
    EXPECT_LT(distance(mean, whole[i].grad()), tolerance) << "gradient of input " << i;
  }
}

// Some hundred additions of numbers up to some tens.
TEST(SharedNorm, HalvesOfABatchAreAsTheWhole) {
  for (const bool live : {false, true}) {
    expect_as_whole(live, at::kDouble, 1e-11);
    expect_as_whole(live, at::kFloat, 1e-4);
  }
}

// One value per channel in each: two in all.
TEST(SharedNorm, AShareMayBeOneItem) {
  const auto run = [](const BatchShares* shares) {
    std::vector<at::Tensor> in = samples(true, at::kDouble);
    const CheckedOp op{.op = "quench.LiveNorm", .attrs = {}, .training = true, .shares = shares};
    in[0] = in[0].detach().narrow(0, 0, 1).slice(2, 0, 1).slice(3, 0, 1).clone();
    return error_of(op, {in.begin(), in.end()});
  };
  EXPECT_NE(run(nullptr).find("training needs more than one value per channel"), std::string::npos);
  const BatchShares two{2, [](at::Tensor&) {}};
  EXPECT_EQ(run(&two), "");
}

}  // namespace
}  // namespace quench
