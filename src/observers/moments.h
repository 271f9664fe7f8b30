// Sums over all batches: of x, x^2, |x|, and the number of elements; one of each per scale.
#pragma once

#include "observers/statistic.h"
#include "quench/quant.h"

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

}  // namespace quench
