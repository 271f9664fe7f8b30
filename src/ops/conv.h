// A convolution with its attributes read, for operators that contain one.
#pragma once

#include <optional>

#include "ops/window.h"

namespace quench {

struct ConvForm {
  Window window;  // with its pads resolved
  std::int64_t groups = 1;
};
// Throws if data and weight do not fit the node.
ConvForm conv_form(const Node& node, const at::Tensor& x, const at::Tensor& w);
at::Tensor convolve(const ConvForm& form, const at::Tensor& x, const at::Tensor& w,
                    const std::optional<at::Tensor>& bias);
// Of the sum of dy * convolve(form, x, w) to w.
at::Tensor weight_gradient(const ConvForm& form, const at::Tensor& dy, const at::Tensor& x, const at::Tensor& w);

}  // namespace quench
