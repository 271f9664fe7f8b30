// The grid that a QuantizeLinear or DequantizeLinear with constant parameters stands for.
#pragma once

#include <optional>

#include "quench/graph.h"
#include "quench/quant.h"

namespace quench {

struct Grid {
  QScheme scheme;
  QParams params;
  bool operator==(const Grid&) const = default;
};

// Nothing if we have no such grid: parameters that are computed, codes of float or of more than 16 bits, scales that
// are not positive or below the least that the one scale rule gives, blocks on data whose dims are not known.
std::optional<Grid> grid_of(const Node& node, DType codes);

// The same grid with fewer codes: what a Clip between QuantizeLinear and DequantizeLinear leaves. Nothing if no
// scheme has exactly these.
std::optional<Grid> with_codes(const Grid& grid, std::int64_t least, std::int64_t greatest);

}  // namespace quench
