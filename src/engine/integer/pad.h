#pragma once

#include "engine/builder.h"
#include "engine/steps/window.h"

namespace quench {

// A copy of x, channels last, with the window's pads around it, filled with this code.
int add_padding(Builder& builder, const Node& node, int x, const DnnlWindow& window, std::int32_t code);

}  // namespace quench
