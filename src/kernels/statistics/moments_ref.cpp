#include <ATen/ATen.h>

#include <cmath>

#include "kernels/entries.h"
#include "kernels/statistics/statistics.h"

namespace quench {

void moments_ref(const at::Tensor& x, const QScheme& scheme, at::Tensor& sum, at::Tensor& squares,
                 at::Tensor& absolute) {
  const at::Tensor laid = laid_out(x, scheme);
  const Layout layout = entry_layout(laid, scheme);
  const auto entries = static_cast<std::size_t>(layout.channels);
  std::vector<double> first(entries), second(entries), magnitude(entries);
  for_each_element(laid.const_data_ptr<float>(), layout, [&](std::int64_t c, float v) {
    const auto entry = static_cast<std::size_t>(c);
    const double value = v;
    first[entry] += value;
    second[entry] += value * value;
    magnitude[entry] += std::abs(value);
  });
  const std::vector<std::int64_t> shape = scheme.scale_shape(x.sizes().vec());
  const auto finish = [&](const std::vector<double>& rows) {
    return to_scale_order(at::tensor(rows), x, scheme).reshape(shape).to(x.device());
  };
  sum = finish(first);
  squares = finish(second);
  absolute = finish(magnitude);
}

}  // namespace quench
