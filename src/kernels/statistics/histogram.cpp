#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "kernels/entries.h"
#include "kernels/simd/simd.h"
#include "kernels/statistics/bins.h"
#include "kernels/statistics/statistics_cpu.h"
#include "kernels/statistics/walk.h"
#include "quench/error.h"

namespace quench {
namespace {

// The counters of one thread. With `adding` other threads have the same row.
class Counters {
 public:
  explicit Counters(int bins, std::mutex* adding = nullptr)
      : bins_(bins), counts_(static_cast<std::size_t>((bins + 1) * kCountCopies)), adding_(adding) {}

  // Into `row` whenever the counters might overflow, and at the end by empty_into().
  void count(const float* x, std::int64_t length, const Bins& range, bool absolute, double* row) {
    while (length > 0) {
      if (counted_ == kMostCounted) empty_into(row);
      const std::int64_t part = std::min(kMostCounted - counted_, length);
      simd().statistics.count(x, part, range, absolute, counts_.data());
      counted_ += part + part % kCountCopies;  // the copies take turns, beginning with the first
      x += part;
      length -= part;
    }
  }

  // The range is taken into `seen`. False if a value is in no bin.
  bool count_inside(const float* x, std::int64_t length, const Bins& range, bool absolute, SeenRange& seen,
                    std::uint32_t* row) {
    RangedCounts found{seen.min, seen.max, counts_.data()};
    bool inside = true;
    for (; length > 0 && inside; x += kMostCounted, length -= kMostCounted) {
      inside = simd().statistics.count_inside(x, std::min(kMostCounted, length), range, absolute, found);
      counted_ = kMostCounted;
      empty_into(row);
    }
    seen = {found.min, found.max};
    return inside;
  }

  template <typename Number>
  void empty_into(Number* row) {
    if (counted_ == 0) return;
    counted_ = 0;
    static_assert(kCountCopies == 2);
    const std::uint16_t* counts = counts_.data();
    const auto lock = adding_ ? std::unique_lock<std::mutex>(*adding_) : std::unique_lock<std::mutex>();
    for (int bin = 0; bin < bins_; ++bin) row[bin] += static_cast<Number>(counts[bin] + counts[bins_ + 1 + bin]);
    std::fill(counts_.begin(), counts_.end(), std::uint16_t{0});
  }

 private:
  int bins_;
  std::int64_t counted_ = 0;
  std::vector<std::uint16_t> counts_;
  std::mutex* adding_;
};

// Short entries are counted straight into their row.
void count_few(const float* x, std::int64_t length, const Bins& range, bool absolute, double* row) {
  for (std::int64_t i = 0; i < length; ++i) {
    const int bin = bin_of(absolute ? std::abs(x[i]) : x[i], range);
    if (bin >= 0) row[bin] += 1.0;
  }
}

// One entry, cut among the threads. Counts are whole numbers: their sum does not depend on the order.
void count_tensor(const float* x, std::int64_t length, const Bins& range, const HistogramArgs& args, double* row) {
  if (length < args.bins) return count_few(x, length, range, args.absolute, row);
  std::mutex adding;
  in_parallel(length, kPart, [&](std::int64_t first, std::int64_t last) {
    Counters counters(args.bins, &adding);
    counters.count(x + first, last - first, range, args.absolute, row);
    counters.empty_into(row);
  });
}

// Many entries, each by one thread, piece by piece.
void count_entries(const float* x, const Layout& layout, const std::vector<Bins>& ranges, const HistogramArgs& args,
                   double* rows) {
  const std::int64_t size = layout.outer * layout.inner;
  const bool few = size < 2 * args.bins;
  in_parallel(layout.channels, std::max<std::int64_t>(1, kPart / std::max<std::int64_t>(size, 1)),
              [&](std::int64_t first, std::int64_t last) {
                Counters counters(args.bins);
                for (std::int64_t c = first; c < last; ++c) {
                  double* row = rows + c * args.bins;
                  for (std::int64_t o = 0; o < layout.outer; ++o) {
                    const float* piece = x + (o * layout.channels + c) * layout.inner;
                    const Bins& range = ranges[static_cast<std::size_t>(c)];
                    if (few)
                      count_few(piece, layout.inner, range, args.absolute, row);
                    else
                      counters.count(piece, layout.inner, range, args.absolute, row);
                  }
                  counters.empty_into(row);
                }
              });
}

}  // namespace

void add_histogram_on_cpu(const at::Tensor& x, const HistogramArgs& args, at::Tensor& counts) {
  at::Tensor laid = laid_out(x, args.scheme);
  Layout layout = entry_layout(laid, args.scheme);
  if (RowWalk::fits(layout)) {  // pieces of a few elements: brought together first
    laid = entry_rows(laid, args.scheme);
    layout = {1, laid.size(0), laid.size(1)};
  }
  const std::int64_t entries = layout.channels;
  QUENCH_CHECK(args.low.numel() == entries && args.high.numel() == entries, "a histogram of ", entries,
               " entries needs as many bounds, not ", args.low.numel(), " and ", args.high.numel());
  const at::Tensor low = from_scale_order(args.low.cpu().reshape({-1}), x, args.scheme).contiguous();
  const at::Tensor high = from_scale_order(args.high.cpu().reshape({-1}), x, args.scheme).contiguous();
  std::vector<Bins> ranges;
  for (std::int64_t c = 0; c < entries; ++c)
    ranges.push_back(bins_of(low.const_data_ptr<float>()[c], high.const_data_ptr<float>()[c], args.bins, args.grid));
  for (Bins& range : ranges) range.all = args.grid && args.all_inside;
  const auto* data = laid.const_data_ptr<float>();
  if (entries == 1) return count_tensor(data, layout.numel(), ranges[0], args, counts.mutable_data_ptr<double>());
  const at::Tensor found = at::zeros({entries, args.bins}, at::kDouble);
  count_entries(data, layout, ranges, args, found.mutable_data_ptr<double>());
  counts += to_scale_order(found, x, args.scheme);
}

bool add_histogram_inside(const at::Tensor& x, const HistogramArgs& args, SeenRange& range, at::Tensor& counts) {
  QUENCH_CHECK(args.grid && args.low.numel() == 1 && x.is_cpu(), "one entry on a grid, on the CPU, is asked for");
  const at::Tensor laid = laid_out(x, args.scheme);
  const auto* data = laid.const_data_ptr<float>();
  Bins bins = bins_on_grid(args.low.item<float>(), args.high.item<float>(), args.bins);
  bins.all = true;  // of what is counted
  std::vector<std::uint32_t> found(static_cast<std::size_t>(args.bins));
  SeenRange all = range;
  std::mutex adding;
  bool inside = laid.numel() <= std::numeric_limits<std::uint32_t>::max();
  in_parallel(inside ? laid.numel() : 0, kPart, [&](std::int64_t first, std::int64_t last) {
    Counters counters(args.bins, &adding);
    SeenRange own = range;
    const bool fits = counters.count_inside(data + first, last - first, bins, args.absolute, own, found.data());
    const std::lock_guard<std::mutex> lock(adding);
    inside = inside && fits;
    all = {std::min(all.min, own.min), std::max(all.max, own.max)};
  });
  if (!inside) return false;
  range = all;
  auto* row = counts.mutable_data_ptr<double>();
  for (std::size_t bin = 0; bin < found.size(); ++bin) row[bin] += found[bin];
  return true;
}

}  // namespace quench
