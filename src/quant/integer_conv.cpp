#include <ATen/ATen.h>

#include "quant/integer_tensor.h"
#include "quench/error.h"

namespace quench {

at::Tensor integer_conv(const QTensor& x, const QTensor& w, const at::Tensor& bias, const IntegerWindow& window,
                        std::int64_t groups, const Output& y) {
  const auto spatial = static_cast<std::size_t>(x.codes.dim() - 2);
  QUENCH_CHECK(x.codes.dim() >= 3 && x.codes.dim() <= 5 && w.codes.dim() == x.codes.dim(), "Conv of rank ",
               x.codes.dim(), " with weights of rank ", w.codes.dim());
  QUENCH_CHECK(x.codes.size(1) == w.codes.size(1) * groups, "Conv of ", x.codes.size(1), " channels in ", groups,
               " groups with weights for ", w.codes.size(1), " per group");
  const std::vector<std::int64_t> ones(spatial, 1), zeros(spatial, 0);
  // Zeros around codes less their zero point are the zero point around the codes.
  std::vector<std::int64_t> pads;
  for (std::size_t d = spatial; d-- > 0 && !window.pads.empty();) {
    pads.push_back(window.pads.at(d));
    pads.push_back(window.pads.at(d + spatial));
  }
  // Float64 has no other algorithms than sums of products, which are exact here: see finish_sums().
  const at::Tensor sums = at::convolution(at::constant_pad_nd(centered(x), pads), centered(w, 0), {},
                                          window.strides.empty() ? ones : window.strides, zeros,
                                          window.dilations.empty() ? ones : window.dilations, false, zeros, groups);
  const std::int64_t products = w.codes.numel() / std::max<std::int64_t>(w.codes.size(0), 1);
  return finish_sums({sums, products, 1}, x, w, bias, y);
}

}  // namespace quench
