#include <ATen/ATen.h>

#include "quant/integer_tensor.h"
#include "quench/error.h"

namespace quench {
namespace {

// Output channel c of a group has entry c of the weights' scales: one list for every group.
QType spread_over_groups(const QType& weight, std::int64_t groups) {
  QType type = weight;
  if (weight.scheme.per_tensor()) return type;
  for (std::int64_t g = 1; g < groups; ++g)
    type.params.scale.insert(type.params.scale.end(), weight.params.scale.begin(), weight.params.scale.end());
  return type;
}

}  // namespace

at::Tensor integer_conv_transpose(const QTensor& x, const QTensor& w, const at::Tensor& bias,
                                  const TransposedWindow& window, std::int64_t groups, const Output& y) {
  const auto spatial = static_cast<std::size_t>(x.codes.dim() - 2);
  QUENCH_CHECK(x.codes.dim() >= 3 && x.codes.dim() <= 5 && w.codes.dim() == x.codes.dim(), "ConvTranspose of rank ",
               x.codes.dim(), " with weights of rank ", w.codes.dim());
  QUENCH_CHECK(x.codes.size(1) == w.codes.size(0) && groups > 0 && w.codes.size(0) % groups == 0, "ConvTranspose of ",
               x.codes.size(1), " channels in ", groups, " groups with weights for ", w.codes.size(0));
  const std::vector<std::int64_t> ones(spatial, 1), zeros(spatial, 0);
  const IntegerWindow& plain = window.window;
  const at::Tensor full = at::convolution(centered(x), centered(w, 1), {}, plain.strides.empty() ? ones : plain.strides,
                                          zeros, plain.dilations.empty() ? ones : plain.dilations, true, zeros, groups);
  // Pads take the border away; what output_padding adds is zeros.
  std::vector<std::int64_t> border;
  for (std::size_t d = spatial; d-- > 0;) {
    const std::int64_t more = window.output_padding.empty() ? 0 : window.output_padding.at(d);
    border.push_back(plain.pads.empty() ? 0 : -plain.pads.at(d));
    border.push_back(more - (plain.pads.empty() ? 0 : plain.pads.at(d + spatial)));
  }
  const at::Tensor sums = at::constant_pad_nd(full, border);
  const std::int64_t kernel = w.codes[0][0].numel();
  const QType spread = spread_over_groups(w.type, groups);
  return finish_sums({sums, x.codes.size(1) / groups * kernel, 1}, x, {w.codes, spread}, bias, y);
}

}  // namespace quench
