// The type of codes that a QuantizeLinear or DequantizeLinear with constant parameters stands for.
#pragma once

#include <optional>

#include "quant/reference.h"
#include "quench/graph.h"

namespace quench {

// Nothing where it is not one of ours: parameters that are computed, codes of float or of more than 16 bits, scales
// that are not positive or below the least that the one scale rule gives, blocks on data whose dims are not known.
std::optional<QType> type_of_codes(const Node& node, DType codes);

// The same type with fewer codes: what a Clip between QuantizeLinear and DequantizeLinear leaves. Nothing where no
// scheme has just these.
std::optional<QType> with_codes(const QType& type, std::int64_t least, std::int64_t greatest);

}  // namespace quench
