#include "kernels/statistics/statistics_cuda.h"

#ifdef QUENCH_WITH_CUDA

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>

#include <limits>

#include "kernels/cuda/search.h"
#include "kernels/cuda/statistics.h"
#include "kernels/entries.h"
#include "kernels/statistics/candidates.h"
#include "kernels/statistics/step_errors.h"
#include "quench/error.h"

namespace quench {
namespace {

// As laid_out(), without leaving the device.
struct Laid {
  Laid(const at::Tensor& tensor, const QScheme& the_scheme) : x(tensor), scheme(the_scheme), device(tensor.device()) {
    QUENCH_CHECK(x.scalar_type() == at::kFloat, "statistics are taken of float32, not of ", x.scalar_type());
    shape = scheme.scale_shape(x.sizes().vec());
    data = needs_move(x, scheme) ? axis_to_end(x, scheme) : dense(x);
    const Layout layout = entry_layout(data, scheme);
    view.outer = layout.outer;
    view.channels = layout.channels;
    view.inner = layout.inner;
  }
  at::Tensor result(at::ScalarType type) const { return at::empty({view.channels}, x.options().dtype(type)); }
  at::Tensor shaped(const at::Tensor& rows) const { return to_scale_order(rows, x, scheme).reshape(shape); }

  const at::Tensor& x;
  const QScheme& scheme;
  c10::DeviceGuard device;
  std::vector<std::int64_t> shape;
  at::Tensor data;
  AffineView view;
};

}  // namespace

void min_max_on_cuda(const at::Tensor& x, const QScheme& scheme, at::Tensor& min, at::Tensor& max) {
  const Laid laid(x, scheme);
  const at::Tensor low = laid.result(at::kFloat), high = laid.result(at::kFloat);
  cuda_min_max(laid.view, laid.data.const_data_ptr<float>(), low.mutable_data_ptr<float>(),
               high.mutable_data_ptr<float>());
  min = laid.shaped(low);
  max = laid.shaped(high);
}

void moments_on_cuda(const at::Tensor& x, const QScheme& scheme, at::Tensor& sum, at::Tensor& squares,
                     at::Tensor& absolute) {
  const Laid laid(x, scheme);
  const at::Tensor a = laid.result(at::kDouble), b = laid.result(at::kDouble), c = laid.result(at::kDouble);
  cuda_moments(laid.view, laid.data.const_data_ptr<float>(), a.mutable_data_ptr<double>(), b.mutable_data_ptr<double>(),
               c.mutable_data_ptr<double>());
  sum = laid.shaped(a);
  squares = laid.shaped(b);
  absolute = laid.shaped(c);
}

at::Tensor histogram_on_cuda(const at::Tensor& x, const HistogramArgs& args) {
  const Laid laid(x, args.scheme);
  QUENCH_CHECK(args.low.numel() == laid.view.channels && args.high.numel() == laid.view.channels, "a histogram of ",
               laid.view.channels, " entries needs as many bounds, not ", args.low.numel(), " and ", args.high.numel());
  const auto bound = [&](const at::Tensor& ends) {
    return from_scale_order(ends.to(x.device()).reshape({-1}), x, args.scheme).contiguous();
  };
  const at::Tensor low = bound(args.low), high = bound(args.high);
  const at::Tensor counts = at::empty({laid.view.channels, args.bins}, x.options().dtype(at::kDouble));
  cuda_histogram(laid.view, laid.data.const_data_ptr<float>(),
                 {low.const_data_ptr<float>(), high.const_data_ptr<float>(), args.bins, args.absolute, args.grid},
                 counts.mutable_data_ptr<double>());
  return to_scale_order(counts, x, args.scheme);
}

namespace {

template <class T>
std::vector<T> in_scale_order(const at::Tensor& entries, const Laid& laid) {
  const at::Tensor ordered = laid.shaped(entries).cpu().contiguous();
  const auto* data = ordered.const_data_ptr<T>();
  return {data, data + ordered.numel()};
}

}  // namespace

RangeSearch search_range_on_cuda(const at::Tensor& x, const SearchArgs& args) {
  const Laid laid(x, args.scheme);
  check_search(args, laid.view.channels);
  const auto ends = [&](const std::vector<float>& of) {
    return from_scale_order(at::tensor(of), x, args.scheme).contiguous().to(x.device());
  };
  const at::Tensor min = ends(args.min), max = ends(args.max), best_min = min.clone(), best_max = max.clone();
  const at::Tensor least = laid.result(at::kDouble).fill_(std::numeric_limits<double>::infinity());
  const CudaRanges ranges{min.const_data_ptr<float>(), max.const_data_ptr<float>(), best_min.mutable_data_ptr<float>(),
                          best_max.mutable_data_ptr<float>(), least.mutable_data_ptr<double>()};
  const ScaleRule rule = rule_of(args.scheme);
  for (int k = 0; k < args.candidates; ++k)
    cuda_try_range(laid.view, laid.data.const_data_ptr<float>(), {rule, args.power, shrink_factor(k)}, ranges);
  const at::Tensor mean = least / static_cast<double>(laid.view.outer * laid.view.inner);
  return {in_scale_order<float>(best_min, laid), in_scale_order<float>(best_max, laid),
          in_scale_order<double>(mean, laid)};
}

std::vector<double> step_errors_on_cuda(const at::Tensor& x, const StepErrorArgs& args) {
  const QScheme whole;
  const Laid laid(x, whole);
  const at::Tensor sums = at::empty({args.count}, x.options().dtype(at::kDouble));
  for (int k = 0; k < args.count; ++k)
    cuda_step_error(laid.view.inner, laid.data.const_data_ptr<float>(), step_errors_of(args, args.first + k),
                    sums.mutable_data_ptr<double>() + k);
  const at::Tensor found = sums.cpu();
  return {found.const_data_ptr<double>(), found.const_data_ptr<double>() + args.count};
}

}  // namespace quench

#endif
