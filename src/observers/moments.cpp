#include "observers/moments.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "kernels/statistics/statistics.h"

namespace quench {
namespace {

void add_to(std::vector<double>& sums, const std::vector<double>& more) {
  if (sums.empty()) sums.resize(more.size());
  std::transform(sums.begin(), sums.end(), more.begin(), sums.begin(), std::plus<>());
}

}  // namespace

void RunningMoments::add(const at::Tensor& x, const QScheme& scheme) {
  at::Tensor sum, squares, absolute;
  moments(x, scheme, sum, squares, absolute);
  count_ += static_cast<double>(x.numel()) / static_cast<double>(sum.numel());
  add_to(sum_, doubles_of(sum));
  add_to(squares_, doubles_of(squares));
  add_to(absolute_, doubles_of(absolute));
}

void RunningMoments::add_all(const Statistic& other, const BatchCounts&) {
  const auto& theirs = static_cast<const RunningMoments&>(other);
  count_ += theirs.count_;
  add_to(sum_, theirs.sum_);
  add_to(squares_, theirs.squares_);
  add_to(absolute_, theirs.absolute_);
}

double RunningMoments::deviation(std::size_t entry) const {
  if (count_ < 2) return 0.0;
  // Float32 data: the cancellation against float64 sums costs less than the data's own rounding.
  const double variance = (squares_[entry] - sum_[entry] * sum_[entry] / count_) / (count_ - 1);
  return std::sqrt(std::max(variance, 0.0));
}

void RunningMoments::save(State& state) const {
  state["count"] = state_of(std::vector<double>{count_});
  state["sum"] = state_of(sum_);
  state["squares"] = state_of(squares_);
  state["absolute"] = state_of(absolute_);
}

void RunningMoments::restore(const State& state, std::size_t entries) {
  count_ = doubles_of(state, "count", 1)[0];
  sum_ = doubles_of(state, "sum", entries);
  squares_ = doubles_of(state, "squares", entries);
  absolute_ = doubles_of(state, "absolute", entries);
}

}  // namespace quench
