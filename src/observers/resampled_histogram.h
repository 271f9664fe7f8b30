// torch's histogram (docs/numerics.md 7.1), for re-creating a reference: the first batch sets the bins, and a wider
// one resamples them, so that the counts depend on the order of the batches. Float bounds.
#pragma once

#include "observers/histogram_counts.h"

namespace quench {

class ResampledHistogram : public HistogramCounts {
 public:
  // Reads, where declared, `upsample_rate` (fine bins of an old bin when it is resampled) and `torch113` (counts
  // between whole numbers, as torch through 1.13: D11).
  explicit ResampledHistogram(const Options& options, bool absolute = false);

  using HistogramCounts::add;
  void add(const at::Tensor& x, const QScheme& scheme, const TensorRange& range, double weight) override;
  // Counts of `other` are spread evenly over their bins where the bounds differ.
  void merge(const HistogramCounts& other) override;
  void clear() override;
  double low(std::size_t entry) const override { return low_[entry]; }
  double width(std::size_t entry) const override;
  double high(std::size_t entry) const { return high_[entry]; }  // may reach beyond what was seen

  void save(State& state) const override;
  void restore(const State& state, std::size_t entries) override;

 private:
  void grow(std::size_t entry, float low, float high);
  void resample(std::size_t entry, float low, float high);
  void start(const TensorRange& range);
  at::Tensor count(const at::Tensor& x, const QScheme& scheme, const TensorRange& batch) const;

  int upsample_ = 128;
  bool integer_bounds_ = false;
  std::vector<float> low_, high_;
};

}  // namespace quench
