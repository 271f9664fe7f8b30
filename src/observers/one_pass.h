// An observer that keeps a histogram on the grid and nothing else: range and counts can be had in one pass over the
// data.
#pragma once

#include "observers/grid_histogram.h"

namespace quench {

class OnePass {
 public:
  virtual ~OnePass() = default;
  virtual GridHistogram* all_that_is_kept() = 0;  // null if it keeps something else after all
};

}  // namespace quench
