#include "observers/entropy_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace quench {
namespace {

// docs/numerics.md 7.3 bin by bin: visit(bin, share of the bin, group) for every piece of the kept bins.
template <typename Visit>
void for_each_share(int kept, int levels, Visit visit) {
  const double size = static_cast<double>(kept) / levels;
  int group = 0;
  for (int i = 0; i < kept; ++i)
    for (double from = i; from < i + 1;) {
      const double border = group + 1 < levels ? (group + 1) * size : kept;
      const double to = std::min(border, i + 1.0);
      visit(static_cast<std::size_t>(i), to - from, static_cast<std::size_t>(group));
      from = to;
      if (to >= border) ++group;
    }
}

double plain_divergence(const std::vector<double>& counts, int kept, int levels) {
  std::vector<double> p(counts.begin(), counts.begin() + kept), q(p.size());
  std::vector<double> mass(static_cast<std::size_t>(levels)), filled = mass;
  double inside = 0, total = 0;
  for (const double one : p) inside += one;
  for (const double one : counts) total += one;
  p.back() += total - inside;
  for_each_share(kept, levels, [&](std::size_t i, double share, std::size_t group) {
    mass[group] += share * counts[i];
    filled[group] += p[i] > 0 ? share : 0.0;
  });
  for_each_share(kept, levels, [&](std::size_t i, double share, std::size_t group) {
    if (p[i] > 0 && filled[group] > 0) q[i] += share * mass[group] / filled[group];
  });
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (p[i] > 0) sum += p[i] / total * std::log(p[i] / total / (inside > 0 && q[i] > 0 ? q[i] / inside : 1e-4));
  return sum;
}

std::vector<double> tail_of_counts(int bins, double empty) {
  std::mt19937 random(7);
  std::vector<double> counts;
  for (int i = 0; i < bins; ++i) {
    const double wanted = 1000.0 * std::exp(-6.0 * i / bins);
    counts.push_back(random() % 1000 < empty * 1000 ? 0.0 : std::floor(wanted * (random() % 1000) / 500.0));
  }
  return counts;
}

double mass_of(const std::vector<double>& counts, int bins) {
  return std::accumulate(counts.begin(), counts.begin() + bins, 0.0);
}

// Sums of at most 300 terms, each below 20 times a share of one: 300 * 20 * 2^-53 < 1e-12.
TEST(EntropySearch, DivergenceIsThatOfEveryBinOnItsOwn) {
  for (const double empty : {0.0, 0.3, 0.95})
    for (const int levels : {1, 2, 7, 64, 299, 300}) {
      const std::vector<double> counts = tail_of_counts(300, empty);
      const EntropySearch search(counts.data(), 300, levels);
      int best = 300;
      for (int kept = 300; kept >= levels; --kept) {
        EXPECT_NEAR(search.divergence(kept), plain_divergence(counts, kept, levels), 1e-12)
            << empty << " " << levels << " " << kept;
        const bool allowed = mass_of(counts, kept) >= 0.9 * mass_of(counts, 300);
        if (allowed && search.divergence(kept) <= search.divergence(best) + 1e-12) best = kept;
      }
      EXPECT_EQ(search.bins_to_keep(), best);  // of equal ones the first
    }
}

TEST(EntropySearch, EmptyBinsAtEitherEnd) {
  std::vector<double> counts(40);
  counts[30] = 5;
  for (const int kept : {4, 29, 30, 31, 40})
    EXPECT_NEAR(EntropySearch(counts.data(), 40, 4).divergence(kept), plain_divergence(counts, kept, 4), 1e-12) << kept;
  counts[30] = 0;
  EXPECT_EQ(EntropySearch(counts.data(), 40, 4).bins_to_keep(), 40);  // nothing is known: nothing is cut
}

}  // namespace
}  // namespace quench
