// Counts of values in bins, one row per scale, over any number of batches in constant memory: what each histogram of an
// observer has, however its bins came about.
#pragma once

#include "quench/statistic.h"

namespace quench {

class HistogramCounts : public Statistic {
 public:
  static OptionInfo bins_option() { return {"bins", 2048.0, "least number of bins of the histogram, per scale"}; }

  // `weight`: what each value counts.
  virtual void add(const at::Tensor& x, const QScheme& scheme, const TensorRange& range, double weight) = 0;
  void add(const at::Tensor& x, const QScheme& scheme, const TensorRange& range) { add(x, scheme, range, 1.0); }
  // Counts add up. `other` is of the same kind and has as many bins.
  virtual void merge(const HistogramCounts& other) = 0;
  void scale_counts(double factor);

  std::size_t rows() const { return range_.range().min.size(); }
  int bins() const { return bins_; }  // of a row; the last ones may lie beyond the range, and are empty then
  const double* row(std::size_t entry) const { return counts_.data() + entry * static_cast<std::size_t>(bins_); }
  double total(std::size_t entry) const;
  virtual double low(std::size_t entry) const = 0;             // where the first bin begins
  virtual double width(std::size_t entry) const = 0;           // of a bin; 0 where all values were equal
  int used_bins(std::size_t entry) const;                      // up to the last that holds anything, at least 1
  const TensorRange& range() const { return range_.range(); }  // exactly what was seen
  at::Tensor counts() const;                                   // {rows, bins}; shares memory with this
  std::vector<double> lows() const, highs() const;             // of all rows, as search_histogram() takes them

  void add_all(const Statistic& other, const BatchCounts&) override {
    merge(static_cast<const HistogramCounts&>(other));
  }
  void clear() override;
  void save(State& state) const override;
  void restore(const State& state, std::size_t entries) override;

 protected:
  // Throws unless `bins` of the options makes sense; a row gets `times` as many.
  HistogramCounts(const Options& options, bool absolute, int times);

  double* own_row(std::size_t entry) { return counts_.data() + entry * static_cast<std::size_t>(bins_); }
  void allocate(std::size_t rows);  // zeros; throws if it is too much
  bool absolute() const { return absolute_; }
  TensorRange of_magnitudes(const TensorRange& range) const;  // as it is, or of |x| where those are counted

  RunningRange range_;

 private:
  int bins_;
  bool absolute_;
  std::vector<double> counts_;
};

}  // namespace quench
