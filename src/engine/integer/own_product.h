// Convolutions without groups and matrix products by our own loop (engine/simd/byte_product.h).
#pragma once

#include "engine/integer/product.h"
#include "engine/steps/window.h"

namespace quench {

// Two spatial dims at most, the windows' pixels beside each other, under a rule that the loop has.
bool fits_own_product(const ByteProduct& product, const DnnlWindow& window, std::int64_t groups);
// x: channels last, with its pads around it.
int add_own_product(Builder& builder, const Node& node, const IntegerForm& form, const ByteProduct& product,
                    const DnnlWindow& window, int x);

}  // namespace quench
