#include <ATen/ATen.h>

#include <limits>

#include "kernels/entries.h"
#include "kernels/statistics/statistics.h"

namespace quench {

void min_max_ref(const at::Tensor& x, const QScheme& scheme, at::Tensor& min, at::Tensor& max) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const at::Tensor laid = laid_out(x, scheme);
  const Layout layout = entry_layout(laid, scheme);
  std::vector<float> least(static_cast<std::size_t>(layout.channels), kInf), greatest(least.size(), -kInf);
  for_each_element(laid.const_data_ptr<float>(), layout, [&](std::int64_t c, float v) {
    float& low = least[static_cast<std::size_t>(c)];
    float& high = greatest[static_cast<std::size_t>(c)];
    // A NaN stays: it compares false with everything that comes later.
    if (!(v >= low) && low == low) low = v;
    if (!(v <= high) && high == high) high = v;
  });
  const std::vector<std::int64_t> shape = scheme.scale_shape(x.sizes().vec());
  min = to_scale_order(at::tensor(least), x, scheme).reshape(shape).to(x.device());
  max = to_scale_order(at::tensor(greatest), x, scheme).reshape(shape).to(x.device());
}

}  // namespace quench
