// One batch, item by item: what a Loader's threads do.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "quench/data.h"

namespace quench {

struct MadeBatch {
  Batch batch;
  std::vector<std::string> skipped;
};

// A broken item is left out and named when `skip_broken`, else it throws. Gives up between two items once
// `stop` is set; nothing needs the batch then.
MadeBatch make_batch(const Dataset& dataset, std::span<const std::int64_t> items, bool skip_broken,
                     const std::atomic<bool>& stop);

}  // namespace quench
