// A convolution's or pool's window as oneDNN takes it.
#pragma once

#include "engine/onednn.h"
#include "quench/graph.h"

namespace quench {

struct DnnlWindow {
  Sizes kernel, strides, dilations, begin, end;  // dilations less one
};
// With auto_pad resolved for these sizes [N, C, spatial...]. The end pads are what the output's sizes need.
DnnlWindow dnnl_window(const Node& node, const Sizes& kernel, const Sizes& input, const Sizes& output);

}  // namespace quench
