// A histogram that depends only on the set of values, not on the batches or the order in which they came: bins are a
// power of two wide, with edges at its multiples, and merge in pairs where the range outgrows them. So the bins follow
// from the range of all values, a value's bin is exact, and counts are whole numbers.
#pragma once

#include "observers/histogram_counts.h"

namespace quench {

class GridHistogram : public HistogramCounts {
 public:
  // Rows have twice the `bins` of the options, of which the range fills at least half.
  explicit GridHistogram(const Options& options, bool absolute = false) : HistogramCounts(options, absolute, 2) {}

  using HistogramCounts::add;
  void add(const at::Tensor& x, const QScheme& scheme, const TensorRange& range, double weight) override;
  // All of add(), for one row, if the bins hold every value: x is read once. Else false, and nothing is added.
  bool add_in_one_pass(const at::Tensor& x, const QScheme& scheme);
  void merge(const HistogramCounts& other) override;
  void clear() override;
  double low(std::size_t entry) const override;
  double width(std::size_t entry) const override;
  void restore(const State& state, std::size_t entries) override;

 private:
  // The bins of a row: the first is [first * 2^exponent, (first + 1) * 2^exponent).
  struct Window {
    int exponent = 0;
    std::int64_t first = 0;
    bool operator==(const Window&) const = default;
  };
  Window window_for(float min, float max) const;
  std::vector<Window> windows() const;   // for the range of all values
  void widen(const TensorRange& range);  // so that the rows hold it too
  void pour(const double* counts, const Window& from, const Window& to, double* row) const;
  bool is_point(std::size_t entry) const;  // all values were equal

  std::vector<Window> windows_;
};

}  // namespace quench
