#include "engine/steps/window.h"

#include "ops/window.h"

namespace quench {

DnnlWindow dnnl_window(const Node& node, const Sizes& kernel, const Sizes& input, const Sizes& output) {
  Window window = window_of(node, kernel);
  window.resolve({input.begin() + 2, input.end()});
  DnnlWindow result{window.kernel, window.strides, {}, window.begin, {}};
  for (std::size_t d = 0; d < window.kernel.size(); ++d) {
    result.dilations.push_back(window.dilations[d] - 1);
    // ceil_mode looks beyond the pads; a window that ends before them needs fewer.
    const std::int64_t reach = (output[d + 2] - 1) * window.strides[d] + window.extent(d);
    result.end.push_back(reach - input[d + 2] - window.begin[d]);
  }
  return result;
}

}  // namespace quench
