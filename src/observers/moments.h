// Sums over all batches: of x, x^2, |x|, and the number of elements; one of each per scale.
#pragma once

#include "quench/quant.h"
#include "quench/statistic.h"

namespace quench {

class RunningMoments : public Statistic {
 public:
  void add(const at::Tensor& x, const QScheme& scheme);

  double mean(std::size_t entry) const { return sum_[entry] / count_; }
  double mean_absolute(std::size_t entry) const { return absolute_[entry] / count_; }
  double deviation(std::size_t entry) const;  // unbiased; 0 of a single element

  void add_all(const Statistic& other, const BatchCounts& batches) override;
  void clear() override { *this = {}; }
  void save(State& state) const override;
  void restore(const State& state, std::size_t entries) override;

 private:
  double count_ = 0;  // elements of one entry
  std::vector<double> sum_, squares_, absolute_;
};

// Of those that need nothing else than moments and the range.
class MomentsObserver : public StatisticsObserver {
 protected:
  explicit MomentsObserver(const QScheme& scheme) : StatisticsObserver(scheme) {
    keep(range_);
    keep(moments_);
  }

  void add(const at::Tensor& x, const TensorRange& range) override {
    range_.add(range);
    moments_.add(x, scheme());
  }
  const TensorRange& range() const { return range_.range(); }
  const RunningMoments& moments() const { return moments_; }

 private:
  RunningRange range_;
  RunningMoments moments_;
};

}  // namespace quench
