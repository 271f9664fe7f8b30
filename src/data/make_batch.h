// One batch, item by item: what a Loader's threads do.
#pragma once

#include <string>
#include <vector>

#include "quench/data.h"

namespace quench {

struct MadeBatch {
  Batch batch;
  std::vector<std::string> skipped;
};

// Items [begin, end) of `order`. A broken one is left out and named when `skip_broken`, else it throws.
MadeBatch make_batch(const Dataset& dataset, const std::int64_t* begin, const std::int64_t* end, bool skip_broken);

}  // namespace quench
