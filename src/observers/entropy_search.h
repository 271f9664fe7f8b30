// The search behind kl: how many bins of a histogram of magnitudes to keep. docs/numerics.md 7.3.
#pragma once

#include <vector>

namespace quench {

// The kept bins are merged into `levels` groups of equal width, with fractional borders; what lies beyond goes to the
// last bin kept. A candidate's divergence is a sum over groups, from sums over the bins before each border: it costs
// as much as there are levels, not bins.
class EntropySearch {
 public:
  EntropySearch(const double* counts, int bins, int levels);
  // The least divergence, from `levels` bins on; the first one on equality, all bins where nothing was counted.
  int bins_to_keep() const;
  double divergence(int kept) const;

 private:
  struct Group;
  double share_at(int bin) const { return share_[static_cast<std::size_t>(bin)]; }
  Group group_at(int index, int kept) const;

  int bins_, levels_;
  std::vector<double> share_;                    // of all counts, by bin
  std::vector<double> mass_, filled_, entropy_;  // of the bins before: shares, bins that hold any, sum of p log p
};

}  // namespace quench
