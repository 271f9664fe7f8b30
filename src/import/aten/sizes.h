// Sizes that mappings need as numbers.
#pragma once

#include "import/aten/aten.h"
#include "quench/error.h"

namespace quench {

inline std::int64_t fixed_size(const AtenCall& call, const Value& x, int axis) {
  const Dim& dim = x.dims()[static_cast<std::size_t>(axis)];
  QUENCH_CHECK(dim.is_number(), call.where(), ": the size of axis ", axis, " must be fixed");
  return dim.number();
}

}  // namespace quench
