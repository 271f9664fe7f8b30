#include <ATen/ATen.h>

#include <numeric>

#include "kernels/statistics/histogram_error.h"
#include "kernels/statistics/search_ends.h"
#include "quench/error.h"

namespace quench {
namespace {

struct Row {
  const double* counts;
  int bins;
  double low, width;  // of a bin
  double edge(int i) const { return low + width * i; }
};

double integrated(const Row& row, const Candidate& candidate, double power) {
  const EdgeIntegral integral(candidate, power);
  double sum = 0;
  for (int i = 0; i < row.bins; ++i)
    if (row.counts[i] != 0) sum += row.counts[i] * (integral(row.edge(i + 1)) - integral(row.edge(i)));
  return sum / row.width;
}

double at_centres(const Row& row, const Candidate& candidate, const SearchArgs& args) {
  double sum = 0;
  for (int i = 0; i < row.bins; ++i) {
    if (row.counts[i] == 0) continue;
    const auto centre = static_cast<float>(row.edge(i) + row.width / 2);
    sum += row.counts[i] * error_term(centre, candidate, args);
  }
  return sum;
}

}  // namespace

RangeSearch search_histogram_ref(const HistogramView& histogram, const SearchArgs& args) {
  const at::Tensor counts = histogram.counts.cpu().contiguous();
  const auto bins = static_cast<int>(counts.size(1));
  check_search(args, counts.size(0));
  QUENCH_CHECK(histogram.low.size() == args.min.size() && histogram.high.size() == args.min.size(), "a histogram of ",
               args.min.size(), " entries needs as many bounds");
  const ScaleRule rule = rule_of(args.scheme);
  RangeSearch result;
  for (std::size_t c = 0; c < args.min.size(); ++c) {
    Row row{counts.const_data_ptr<double>() + static_cast<std::int64_t>(c) * bins, bins, histogram.low[c], 0};
    row.width = (histogram.high[c] - row.low) / bins;
    const double total = std::accumulate(row.counts, row.counts + bins, 0.0);
    const auto error_of = [&](float min, float max) {
      const Candidate candidate = candidate_of(min, max, rule);
      return args.scheme.is_int() && row.width > 0 ? integrated(row, candidate, args.power)
                                                   : at_centres(row, candidate, args);
    };
    const FoundRange found = search_ends(args.min[c], args.max[c], args.candidates, !args.scheme.symmetric(), error_of);
    result.min.push_back(found.min);
    result.max.push_back(found.max);
    result.error.push_back(total > 0 ? found.error / total : 0.0);
  }
  return result;
}

}  // namespace quench
