#include <ATen/ATen.h>

#include <limits>

#include "kernels/entries.h"
#include "kernels/statistics/candidates.h"
#include "kernels/statistics/statistics.h"

namespace quench {
namespace {

at::Tensor entry_rows(const std::vector<float>& values, const at::Tensor& x, const QScheme& scheme) {
  return from_scale_order(at::tensor(values), x, scheme).contiguous();
}

std::vector<float> scale_rows(const at::Tensor& rows, const at::Tensor& x, const QScheme& scheme) {
  const at::Tensor ordered = to_scale_order(rows, x, scheme).contiguous();
  const auto* data = ordered.const_data_ptr<float>();
  return {data, data + ordered.numel()};
}

// Sums of |q(x) - x|^p per entry for one candidate each.
std::vector<double> errors_of(const at::Tensor& laid, const Layout& layout, const SearchArgs& args,
                              const std::vector<Candidate>& candidates) {
  std::vector<double> sums(candidates.size());
  for_each_element(laid.const_data_ptr<float>(), layout, [&](std::int64_t c, float v) {
    const auto entry = static_cast<std::size_t>(c);
    sums[entry] += error_term(v, candidates[entry], args);
  });
  return sums;
}

}  // namespace

RangeSearch search_range_ref(const at::Tensor& x, const SearchArgs& args) {
  const at::Tensor laid = laid_out(x, args.scheme);
  const Layout layout = entry_layout(laid, args.scheme);
  check_search(args, layout.channels);
  const ScaleRule rule = rule_of(args.scheme);
  const at::Tensor min = entry_rows(args.min, x, args.scheme), max = entry_rows(args.max, x, args.scheme);
  const auto entries = static_cast<std::size_t>(layout.channels);
  const at::Tensor best_min = min.clone(), best_max = max.clone();
  const at::Tensor best = at::full({layout.channels}, std::numeric_limits<double>::infinity(), at::kDouble);
  auto* least = best.mutable_data_ptr<double>();
  for (int k = 0; k < args.candidates; ++k) {
    const at::Tensor low = min * shrink_factor(k), high = max * shrink_factor(k);
    std::vector<Candidate> candidates;
    for (std::size_t c = 0; c < entries; ++c)
      candidates.push_back(candidate_of(low.const_data_ptr<float>()[c], high.const_data_ptr<float>()[c], rule));
    const std::vector<double> sums = errors_of(laid, layout, args, candidates);
    for (std::size_t c = 0; c < entries; ++c) {
      if (!(sums[c] < least[c])) continue;
      least[c] = sums[c];
      best_min.mutable_data_ptr<float>()[c] = low.const_data_ptr<float>()[c];
      best_max.mutable_data_ptr<float>()[c] = high.const_data_ptr<float>()[c];
    }
  }
  RangeSearch result{scale_rows(best_min, x, args.scheme), scale_rows(best_max, x, args.scheme), {}};
  const at::Tensor errors = to_scale_order(best, x, args.scheme).contiguous();
  for (std::size_t c = 0; c < entries; ++c)
    result.error.push_back(errors.const_data_ptr<double>()[c] / static_cast<double>(layout.outer * layout.inner));
  return result;
}

}  // namespace quench
