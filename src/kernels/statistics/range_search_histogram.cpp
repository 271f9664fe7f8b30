#include <ATen/ATen.h>

#include <numeric>

#include "kernels/simd/simd.h"
#include "kernels/statistics/histogram_error.h"
#include "kernels/statistics/search_ends.h"
#include "kernels/statistics/walk.h"
#include "quench/error.h"

namespace quench {
namespace {

// The bins of a row that hold something, as edges with the weight that F has there: the sum over bins of
// count * (F(right) - F(left)) collected by edge.
class Edges {
 public:
  Edges(const double* counts, int bins, double low, double width) : width_(width) {
    double before = 0;
    for (int i = 0; i <= bins; ++i) {
      const double here = i < bins ? counts[i] : 0;
      if (before != here) {
        edge_.push_back(low + width * i);
        weight_.push_back(before - here);
      }
      before = here;
    }
  }

  double error(const Candidate& candidate, double power) const {
    const EdgeIntegral integral(candidate, power);
    return simd().statistics.edge_sum({edge_.data(), weight_.data(), static_cast<std::int64_t>(edge_.size()),
                                       integral.inverse, integral.scale, integral.low, integral.high, integral.cell,
                                       integral.power}) /
           width_;
  }

 private:
  double width_;
  std::vector<double> edge_, weight_;
};

}  // namespace

RangeSearch search_histogram(const HistogramView& histogram, const SearchArgs& args) {
  if (!args.scheme.is_int()) return search_histogram_ref(histogram, args);
  const at::Tensor counts = histogram.counts.cpu().contiguous();
  const auto bins = static_cast<int>(counts.size(1));
  check_search(args, counts.size(0));
  QUENCH_CHECK(histogram.low.size() == args.min.size() && histogram.high.size() == args.min.size(), "a histogram of ",
               args.min.size(), " entries needs as many bounds");
  const ScaleRule rule = rule_of(args.scheme);
  RangeSearch result{args.min, args.max, std::vector<double>(args.min.size())};
  in_parallel(counts.size(0), 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t entry = first; entry < last; ++entry) {
      const auto c = static_cast<std::size_t>(entry);
      const double* row = counts.const_data_ptr<double>() + entry * bins;
      const double low = histogram.low[c], width = (histogram.high[c] - low) / bins;
      const double total = std::accumulate(row, row + bins, 0.0);
      const Edges edges(row, bins, low, width);
      const FoundRange found =
          search_ends(args.min[c], args.max[c], args.candidates, !args.scheme.symmetric(), [&](float min, float max) {
            const Candidate candidate = candidate_of(min, max, rule);
            // A range of one point has no bins to spread over.
            if (!(width > 0)) return total * error_term(static_cast<float>(low), candidate, args);
            return edges.error(candidate, args.power);
          });
      result.min[c] = found.min;
      result.max[c] = found.max;
      result.error[c] = total > 0 ? std::max(found.error, 0.0) / total : 0.0;
    }
  });
  return result;
}

}  // namespace quench
