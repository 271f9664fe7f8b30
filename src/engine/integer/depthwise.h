#pragma once

#include "engine/integer/product.h"
#include "engine/steps/window.h"

namespace quench {

// One channel each, 3x3, without dilation, in strides of 1 or 2, under a rule that the loop has.
bool fits_depthwise(const ByteProduct& product, const DnnlWindow& window, std::int64_t groups);
bool add_depthwise(Builder& builder, const Node& node, const IntegerForm& form, const ByteProduct& product,
                   const DnnlWindow& window, int x);

}  // namespace quench
