// Batches of a feed that may run side by side, in order: full ones together, one that is padded with copies alone.
#pragma once

#include <optional>
#include <vector>

#include "data/feed.h"

namespace quench {

class FedGroups {
 public:
  // `feed` must outlive it. With several threads a group has some batches for each, as long as they are small; with one
  // thread it is a single batch.
  FedGroups(Feed& feed, int threads) : feed_(feed), threads_(threads) {}
  std::vector<Fed> next();  // empty at the end

 private:
  bool has_room(const std::vector<Fed>& group) const;
  Feed& feed_;
  int threads_;
  std::optional<Fed> held_;  // taken from the feed, but not of the group before
};

std::vector<NamedValues> inputs_of(const std::vector<Fed>& group);

}  // namespace quench
