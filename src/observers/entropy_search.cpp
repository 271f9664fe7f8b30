#include "observers/entropy_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/parallel.h"

namespace quench {
namespace {

constexpr double kSmall = 1e-4;  // instead of an empty bin, as in ncnn

constexpr double kEqual = 1e-12;  // divergences are sums of about 1000 terms below 20: closer ones are equal

// Of the values, what a clip must leave alone. Where they lie in a few narrow peaks (the means of channels), clipping
// all of them to the lowest peak makes both distributions one bin, and their divergence zero.
constexpr double kLeastInside = 0.9;

double times_log(double share) { return share > 0 ? share * std::log(share) : 0.0; }

}  // namespace

EntropySearch::EntropySearch(const double* counts, int bins, int levels)
    : bins_(bins), levels_(levels), share_(counts, counts + bins), mass_{0.0}, filled_{0.0}, entropy_{0.0} {
  const double total = std::accumulate(share_.begin(), share_.end(), 0.0);
  for (double& share : share_) {
    if (total > 0) share /= total;
    mass_.push_back(mass_.back() + share);
    filled_.push_back(filled_.back() + (share > 0 ? 1.0 : 0.0));
    entropy_.push_back(entropy_.back() + times_log(share));
  }
}

// Whole bins [first, last), a share of the one before and of the one after them. A group is at least one bin wide, so
// that a bin belongs to two of them at most, and the last bin kept to the last group alone.
struct EntropySearch::Group {
  int first, last;
  double before, behind;
  double density = 0;  // mass by filled bin
};

EntropySearch::Group EntropySearch::group_at(int index, int kept) const {
  const double size = static_cast<double>(kept) / levels_;
  const double begin = index * size, end = index + 1 < levels_ ? (index + 1) * size : kept;
  const int whole = static_cast<int>(std::ceil(begin));
  Group group{whole, std::max(whole, static_cast<int>(end)), whole - begin, end - std::floor(end)};
  double mass = mass_[static_cast<std::size_t>(group.last)] - mass_[static_cast<std::size_t>(group.first)];
  double filled = filled_[static_cast<std::size_t>(group.last)] - filled_[static_cast<std::size_t>(group.first)];
  const auto add = [&](double share, double part) {
    mass += part * share;
    filled += share > 0 ? part : 0.0;
  };
  if (group.before > 0) add(share_at(group.first - 1), group.before);
  if (group.behind > 0) add(share_at(group.last), group.behind);
  // An empty last bin is filled by what lies beyond.
  if (index + 1 == levels_ && share_at(kept - 1) <= 0 && mass_.back() > mass_[static_cast<std::size_t>(kept)]) ++filled;
  if (filled > 0) group.density = mass / filled;
  return group;
}

// sum p log(p / q) = sum p log p - sum p log q, with q the densities over what lies inside.
double EntropySearch::divergence(int kept) const {
  const double inside = mass_[static_cast<std::size_t>(kept)];
  const auto last = static_cast<std::size_t>(kept - 1);
  const double of_last = mass_.back() - mass_[last];  // with what lies beyond
  const auto log_of = [&](double density) { return std::log(density > 0 ? density / inside : kSmall); };
  double crossed = 0, left = 0;  // left: what the group before gives to a bin that both share
  for (int g = 0; g < levels_; ++g) {
    const Group group = group_at(g, kept);
    if (group.before > 0 && share_at(group.first - 1) > 0)
      crossed += share_at(group.first - 1) * log_of(left + group.before * group.density);
    const int end = std::min(group.last, kept - 1);
    const double mass = mass_[static_cast<std::size_t>(end)] - mass_[static_cast<std::size_t>(group.first)];
    if (mass > 0) crossed += mass * log_of(group.density);
    if (g + 1 == levels_ && of_last > 0) crossed += of_last * log_of(group.density);
    left = group.behind * group.density;
  }
  return entropy_[last] + times_log(of_last) - crossed;
}

int EntropySearch::bins_to_keep() const {
  if (!(mass_.back() > 0)) return bins_;
  const auto inside = std::lower_bound(mass_.begin() + levels_, mass_.end() - 1, kLeastInside * mass_.back());
  const int least_kept = static_cast<int>(inside - mass_.begin());
  std::vector<double> found(static_cast<std::size_t>(bins_ - least_kept + 1));
  in_parallel(static_cast<std::int64_t>(found.size()), 16, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      found[static_cast<std::size_t>(i)] = divergence(least_kept + static_cast<int>(i));
  });
  const double least = *std::min_element(found.begin(), found.end());
  const auto first = std::find_if(found.begin(), found.end(), [&](double one) { return one <= least + kEqual; });
  return least_kept + static_cast<int>(first - found.begin());
}

}  // namespace quench
