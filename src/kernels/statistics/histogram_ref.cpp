#include <ATen/ATen.h>

#include <cmath>

#include "kernels/entries.h"
#include "kernels/statistics/bins.h"
#include "kernels/statistics/statistics.h"
#include "quench/error.h"

namespace quench {

at::Tensor histogram_ref(const at::Tensor& x, const HistogramArgs& args) {
  const at::Tensor laid = laid_out(x, args.scheme);
  const Layout layout = entry_layout(laid, args.scheme);
  QUENCH_CHECK(args.low.numel() == layout.channels && args.high.numel() == layout.channels, "a histogram of ",
               layout.channels, " entries needs as many bounds, not ", args.low.numel(), " and ", args.high.numel());
  const at::Tensor low = from_scale_order(args.low.cpu().reshape({-1}), x, args.scheme).contiguous();
  const at::Tensor high = from_scale_order(args.high.cpu().reshape({-1}), x, args.scheme).contiguous();
  std::vector<Bins> bins;
  for (std::int64_t c = 0; c < layout.channels; ++c)
    bins.push_back(bins_of(low.const_data_ptr<float>()[c], high.const_data_ptr<float>()[c], args.bins, args.grid));
  const at::Tensor counts = at::zeros({layout.channels, args.bins}, at::kDouble);
  auto* rows = counts.mutable_data_ptr<double>();
  for_each_element(laid.const_data_ptr<float>(), layout, [&](std::int64_t c, float v) {
    const int bin = bin_of(args.absolute ? std::abs(v) : v, bins[static_cast<std::size_t>(c)]);
    if (bin >= 0) rows[c * args.bins + bin] += 1.0;
  });
  return to_scale_order(counts, x, args.scheme).to(x.device());
}

}  // namespace quench
