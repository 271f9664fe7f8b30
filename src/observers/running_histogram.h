// A histogram that grows with the data (numerics 7.1): any number of batches, constant memory, float bounds,
// counts in float64; one row a scale.
#pragma once

#include "observers/range.h"
#include "observers/state.h"

namespace quench {

struct HistogramSpec {
  int bins = 2048;
  int upsample = 128;           // fine bins of an old bin when it is resampled
  bool absolute = false;        // of |x|, from 0
  bool integer_bounds = false;  // torch through 1.13 counts between whole numbers (D11); for parity only
};

class RunningHistogram {
 public:
  // Reads `bins` and, where declared, `upsample_rate`; throws where they make no sense.
  explicit RunningHistogram(const Options& options, bool absolute = false);
  static OptionInfo bins_option() { return {"bins", 2048.0, "bins of the histogram, a scale"}; }

  void add(const at::Tensor& x, const QScheme& scheme, const TensorRange& range, double weight = 1.0);
  // Counts add up; those of `other` are spread evenly over their bins where the bounds differ.
  void merge(const RunningHistogram& other);
  void scale_counts(double factor);
  void clear();

  int bins() const { return spec_.bins; }
  std::size_t rows() const { return low_.size(); }
  const double* row(std::size_t entry) const { return counts_.data() + entry * static_cast<std::size_t>(spec_.bins); }
  double total(std::size_t entry) const;
  double width(std::size_t entry) const;                       // of a bin; 0 where all values were equal
  const std::vector<float>& low() const { return low_; }       // bounds of the bins: they hold the range,
  const std::vector<float>& high() const { return high_; }     // and may reach beyond its upper end
  const TensorRange& range() const { return range_.range(); }  // exactly what was seen
  at::Tensor counts() const;                                   // {rows, bins}; shares memory with this

  void save(State& state) const;
  void restore(const State& state, std::size_t entries);

 private:
  double* own_row(std::size_t entry) { return counts_.data() + entry * static_cast<std::size_t>(spec_.bins); }
  void grow(std::size_t entry, float low, float high);
  void resample(std::size_t entry, float low, float high);
  void start(const std::vector<float>& low, const std::vector<float>& high);
  at::Tensor count(const at::Tensor& x, const QScheme& scheme, const TensorRange& batch) const;

  HistogramSpec spec_;
  RunningRange range_;
  std::vector<float> low_, high_;
  std::vector<double> counts_;
};

}  // namespace quench
