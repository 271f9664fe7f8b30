// The exact search (docs/numerics.md 6.6), dropping candidates as soon as they cannot win. A first guess comes from
// a histogram; its error bounds what the others may have. A candidate is dropped as soon as the sum over the
// blocks done so far is greater, or the clipped tail alone is. Errors only grow, so the winner is the one that
// a full scan of all candidates would find.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/entries.h"
#include "kernels/simd/simd.h"
#include "kernels/statistics/candidates.h"
#include "kernels/statistics/statistics_cuda.h"
#include "kernels/statistics/walk.h"

namespace quench {
namespace {

constexpr std::int64_t kBlock = 8192;       // elements; they stay in the nearest cache for all candidates
constexpr std::int64_t kWave = 64;          // blocks between two looks at who is left
constexpr std::int64_t kGuessFrom = 65536;  // elements from which a guess pays
constexpr int kGuessBins = 1024;

struct Trial {
  int k;
  float min, max;
  Candidate candidate;
  double sum = 0;
};

// Whether the terms |q(x) - x|^p can be formed in float32: none overflows, and those of half a step, the usual
// ones, are far from vanishing. Else they are formed in float64, as in the plain twin.
bool fits_float(const std::vector<Trial>& trials, double power) {
  for (const Trial& one : trials) {
    const float reach = std::max(-one.min, one.max);
    if (power * std::log2(reach) > 120 || power * std::log2(one.candidate.scale / 2) < -100) return false;
  }
  return true;
}

// One entry; with `threads` its blocks are shared among them.
class EntrySearch {
 public:
  EntrySearch(const float* x, std::int64_t length, const SearchArgs& args, std::size_t entry, bool threads)
      : x_(x), length_(length), args_(args), threads_(threads) {
    const ScaleRule rule = rule_of(args.scheme);
    for (int k = 0; k < args.candidates; ++k) {
      const float min = args.min[entry] * shrink_factor(k), max = args.max[entry] * shrink_factor(k);
      const Candidate candidate = candidate_of(min, max, rule);
      if (std::isfinite(candidate.scale)) trials_.push_back({k, min, max, candidate});
    }
    best_.min = args.min[entry];
    best_.max = args.max[entry];
    fast_ = args.scheme.is_int() && fits_float(trials_, args.power);
  }

  Trial run() {
    if (length_ >= kGuessFrom && !trials_.empty()) guess();
    for (std::int64_t block = 0; block * kBlock < length_ && !trials_.empty(); block += kWave) {
      wave(block);
      std::erase_if(trials_, [&](const Trial& one) { return one.sum > best_.sum; });
    }
    for (const Trial& one : trials_)
      if (one.sum < best_.sum || (one.sum == best_.sum && one.k < best_.k)) best_ = one;
    return best_;
  }

 private:
  // Adds the errors of one wave of blocks to every candidate that is left, always in the same order.
  void wave(std::int64_t first_block) {
    const std::int64_t blocks = std::min(kWave, (length_ - first_block * kBlock + kBlock - 1) / kBlock);
    const auto count = static_cast<std::int64_t>(trials_.size());
    parts_.assign(static_cast<std::size_t>(blocks * count), 0.0);
    const auto work = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t block = first; block < last; ++block)
        for (std::int64_t t = 0; t < count; ++t)
          parts_[static_cast<std::size_t>(block * count + t)] =
              block_error(first_block + block, trials_[static_cast<std::size_t>(t)].candidate);
    };
    if (threads_)
      in_parallel(blocks, 1, work);
    else
      work(0, blocks);
    for (std::size_t i = 0; i < parts_.size(); ++i) trials_[i % trials_.size()].sum += parts_[i];
  }

  double block_error(std::int64_t block, const Candidate& by) const {
    const std::int64_t start = block * kBlock, length = std::min(kBlock, length_ - start);
    if (fast_) return simd().statistics.error(x_ + start, length, {by.scale, by.inverse, by.steps}, args_.power);
    double sum = 0;
    for (std::int64_t i = start; i < start + length; ++i) sum += error_term(x_[i], by, args_);
    return sum;
  }

  // Measures the candidate that a histogram prefers in full, and drops those whose tail alone is worse.
  void guess() {
    const at::Tensor row = at::from_blob(const_cast<float*>(x_), {length_}, at::kFloat);
    const std::vector<float> low{best_.min}, high{best_.max};
    if (!(low[0] < high[0])) return;
    const QScheme whole = per_tensor();
    const at::Tensor counts = histogram(row, {whole, at::tensor(low), at::tensor(high), kGuessBins, false});
    std::size_t guessed = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < trials_.size(); ++i) {
      const SearchArgs only{whole, {trials_[i].min}, {trials_[i].max}, args_.power, 1};
      const double error = search_histogram({counts, low, high}, only).error[0];
      if (!(error < least)) continue;
      least = error;
      guessed = i;
    }
    std::vector<Trial> all;
    std::swap(all, trials_);
    trials_.push_back(all[guessed]);
    for (std::int64_t block = 0; block * kBlock < length_; block += kWave) wave(block);
    best_ = trials_[0];
    trials_.clear();
    for (const Trial& one : all)
      if (one.k != best_.k && !(tail_error(one, counts.const_data_ptr<double>(), low[0], high[0]) > best_.sum))
        trials_.push_back(one);
  }

  // Less than what clipping costs: every value counts from the near edge of its bin, moved one bin further in
  // for the rounding of bins and steps.
  double tail_error(const Trial& trial, const double* counts, double low, double high) const {
    const double width = (high - low) / kGuessBins, scale = trial.candidate.scale;
    const double first = trial.candidate.steps.low * scale - width;
    const double last = trial.candidate.steps.high * scale + width;
    double sum = 0;
    for (int i = 0; i < kGuessBins; ++i) {
      const double below = first - (low + width * (i + 1)), above = low + width * i - last;
      const double beyond = std::max(below, above);
      if (beyond > 0 && counts[i] > 0) sum += counts[i] * std::pow(beyond, args_.power);
    }
    return sum * (1 - 1e-4);
  }

  QScheme per_tensor() const {
    QSchemeSpec spec = args_.scheme.spec();
    spec.granularity = Granularity::kTensor;
    spec.group = 0;
    return QScheme(spec);
  }

  const float* x_;
  std::int64_t length_;
  const SearchArgs& args_;
  bool threads_;
  bool fast_ = false;
  std::vector<Trial> trials_;
  std::vector<double> parts_;
  Trial best_{std::numeric_limits<int>::max(), 0, 0, {}, std::numeric_limits<double>::infinity()};
};

#ifdef QUENCH_WITH_CUDA
// CUDA squares in float64, but raises to other powers in float32: as fits_float(), where no step is below 2^-24.
bool fits_cuda(const SearchArgs& args) {
  if (!args.scheme.is_int()) return false;
  if (args.power == 1.0 || args.power == 2.0) return true;
  for (std::size_t c = 0; c < args.min.size() && c < args.max.size(); ++c)
    if (args.power * std::log2(std::max(-args.min[c], args.max[c])) > 120) return false;
  return args.power <= 4;
}
#endif

SearchArgs in_entry_order(const SearchArgs& args, const at::Tensor& x) {
  const auto moved = [&](const std::vector<float>& values) {
    const at::Tensor rows = from_scale_order(at::tensor(values), x, args.scheme).contiguous();
    const auto* data = rows.const_data_ptr<float>();
    return std::vector<float>(data, data + rows.numel());
  };
  return {args.scheme, moved(args.min), moved(args.max), args.power, args.candidates};
}

}  // namespace

RangeSearch search_range(const at::Tensor& x, const SearchArgs& args) {
#ifdef QUENCH_WITH_CUDA
  if (x.is_cuda() && fits_cuda(args)) return search_range_on_cuda(x, args);
#endif
  const at::Tensor rows = entry_rows(laid_out(x, args.scheme), args.scheme);
  const std::int64_t entries = rows.size(0), length = rows.size(1);
  check_search(args, entries);
  const SearchArgs ordered = in_entry_order(args, x);
  const at::Tensor found = at::empty({entries, 3}, at::kDouble);
  auto* results = found.mutable_data_ptr<double>();
  const auto* data = rows.const_data_ptr<float>();
  const auto search = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t c = first; c < last; ++c) {
      const Trial best =
          EntrySearch(data + c * length, length, ordered, static_cast<std::size_t>(c), entries == 1).run();
      results[3 * c] = best.min;
      results[3 * c + 1] = best.max;
      results[3 * c + 2] = best.sum / static_cast<double>(length);
    }
  };
  if (entries == 1)
    search(0, 1);
  else
    in_parallel(entries, 1, search);
  const at::Tensor in_order = to_scale_order(found, x, args.scheme).contiguous();
  RangeSearch result;
  for (std::int64_t c = 0; c < entries; ++c) {
    const double* row = in_order.const_data_ptr<double>() + 3 * c;
    result.min.push_back(static_cast<float>(row[0]));
    result.max.push_back(static_cast<float>(row[1]));
    result.error.push_back(row[2]);
  }
  return result;
}

}  // namespace quench
