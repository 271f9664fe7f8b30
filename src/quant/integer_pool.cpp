#include <ATen/ATen.h>

#include <map>

#include "quant/accumulator.h"
#include "quant/integer_tensor.h"
#include "quench/error.h"

namespace quench {
namespace {

// One spatial dimension of a pooling.
struct Extent {
  std::int64_t kernel, stride, dilation, begin, end;
  std::int64_t extra = 0;  // beyond the pads: what ceil_mode looks at and no window counts
};

std::vector<Extent> extents_of(const at::Tensor& x, const Pool& pool) {
  const auto spatial = static_cast<std::size_t>(x.dim() - 2);
  QUENCH_CHECK(x.dim() >= 3 && pool.kernel.size() == spatial,
               "pooling takes a tensor of rank 3 or more and a kernel size for each spatial axis, not rank ", x.dim(),
               " and ", pool.kernel.size(), " kernel sizes");
  const auto entry = [](const std::vector<std::int64_t>& list, std::size_t i, std::int64_t otherwise) {
    return list.empty() ? otherwise : list.at(i);
  };
  std::vector<Extent> result;
  for (std::size_t d = 0; d < spatial; ++d) {
    Extent e{pool.kernel[d], entry(pool.window.strides, d, 1), entry(pool.window.dilations, d, 1),
             entry(pool.window.pads, d, 0), entry(pool.window.pads, d + spatial, 0)};
    const std::int64_t size = x.size(static_cast<std::int64_t>(d) + 2), reach = e.dilation * (e.kernel - 1) + 1;
    const std::int64_t room = size + e.begin + e.end - reach;
    QUENCH_CHECK(room >= 0, "a pooling window of ", reach, " does not fit into ", size, " with its pads");
    std::int64_t windows = room / e.stride + 1;
    // One more window if something is left over, unless it began in the end padding.
    if (pool.ceil_mode && room % e.stride != 0 && windows * e.stride < size + e.begin) ++windows;
    e.extra = std::max<std::int64_t>((windows - 1) * e.stride - room, 0);
    result.push_back(e);
  }
  return result;
}

// [N, C, out..., window]: all windows of x; what lies outside has the given values.
at::Tensor windows_of(const at::Tensor& x, const std::vector<Extent>& extents, double padding, double beyond) {
  std::vector<std::int64_t> pads, extra;
  for (std::size_t d = extents.size(); d-- > 0;) {
    pads.insert(pads.end(), {extents[d].begin, extents[d].end});
    extra.insert(extra.end(), {0, extents[d].extra});
  }
  at::Tensor windows = at::constant_pad_nd(at::constant_pad_nd(x, pads, padding), extra, beyond);
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const Extent& e = extents[d];
    windows = windows.unfold(static_cast<std::int64_t>(d) + 2, e.dilation * (e.kernel - 1) + 1, e.stride);
    windows = windows.slice(-1, 0, windows.size(-1), e.dilation);
  }
  return windows.flatten(x.dim());
}

// ONNX Runtime's kernel as measured: dequantized values are summed in float32, one after the other, and the zero
// point is added before the rounding.
at::Tensor averages_mlas(const at::Tensor& windows, const at::Tensor& counts, const QTensor& x, const Output& y) {
  const OutputCodes codes = output_codes(y.type, y.arithmetic, y.clip);
  const at::Tensor values = (windows.to(at::kFloat) * tensor_scale(x)).contiguous();
  const at::Tensor counted = counts.to(at::kFloat).expand(values.sizes().slice(0, values.dim() - 1)).contiguous();
  const at::Tensor out = at::empty(counted.sizes(), at::kInt);
  const auto *from = values.const_data_ptr<float>(), *count = counted.const_data_ptr<float>();
  auto* to = out.mutable_data_ptr<std::int32_t>();
  const std::int64_t terms = values.size(-1);
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    float sum = 0.0F;
    for (std::int64_t t = 0; t < terms; ++t) sum += from[i * terms + t];
    to[i] = codes.nearest_shifted(sum / count[i] / codes.scale);
  }
  return store_codes(out, y.type.scheme);
}

// LiteRT averages codes of one type: ties away from zero, on the codes themselves.
std::int32_t average_tflite(std::int64_t sum, std::int64_t count, const OutputCodes& y) {
  const std::int64_t codes = sum + count * y.zero_point;
  return y.clamp((codes + (codes > 0 ? count / 2 : -(count / 2))) / count);
}

at::Tensor averages(const at::Tensor& sums, const at::Tensor& counts, const QTensor& x, const Output& y) {
  const OutputCodes codes = output_codes(y.type, y.arithmetic, y.clip);
  const float scale = tensor_scale(x);
  const bool same = x.type.scheme == y.type.scheme && x.type.params == y.type.params;
  std::map<std::int64_t, Requantizer> by_count;
  const at::Tensor in = sums.to(at::kLong).contiguous();
  const at::Tensor counted = counts.to(at::kLong).expand_as(in).contiguous();
  const at::Tensor out = at::empty(in.sizes(), at::kInt);
  const auto *from = in.const_data_ptr<std::int64_t>(), *count = counted.const_data_ptr<std::int64_t>();
  auto* to = out.mutable_data_ptr<std::int32_t>();
  for (std::int64_t i = 0; i < in.numel(); ++i) {
    if (y.arithmetic.rule == Requantize::kTflite && same) {
      to[i] = average_tflite(from[i], count[i], codes);
    } else {
      const AccumulatorStep step{scale, {1.0F}, count[i]};
      to[i] = by_count.try_emplace(count[i], y.arithmetic, step, codes).first->second(from[i]);
    }
  }
  return store_codes(out, y.type.scheme);
}

// One window, without padding, over all of x.
bool is_global(const at::Tensor& x, const Pool& pool) {
  const std::vector<std::int64_t>& pads = pool.window.pads;
  return x.dim() > 2 && x.sizes().slice(2) == at::IntArrayRef(pool.kernel) &&
         std::all_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad == 0; });
}

void check_sums(const at::Tensor& sums, std::int64_t terms, const QType& x) {
  const QType one{QScheme({.bits = 1, .is_signed = false}), {{1.0F}, {0}}};  // a sum is a product with ones
  check_int32(sums, terms, accumulator_bound(terms, x, one));
}

}  // namespace

at::Tensor integer_max_pool(const QTensor& x, const Pool& pool) {
  tensor_scale(x);  // codes of one type compare as their values do
  const double below = x.type.scheme.qmin() - 1;
  const at::Tensor codes = store_codes(x.codes.cpu(), x.type.scheme).to(at::kDouble);
  return store_codes(windows_of(codes, extents_of(codes, pool), below, below).amax(-1), x.type.scheme);
}

at::Tensor integer_average_pool(const QTensor& x, const Pool& pool, const Output& y) {
  // Here ONNX Runtime takes its other kernel.
  const bool mlas = is_mlas(y.arithmetic.rule);
  if (mlas && is_global(x.codes, pool)) return integer_global_average_pool(x, y);
  const at::Tensor values = centered(x);
  const std::vector<Extent> extents = extents_of(values, pool);
  const at::Tensor windows = windows_of(values, extents, 0.0, 0.0);
  const at::Tensor sums = windows.sum(-1);
  check_sums(sums, windows.size(-1), x.type);
  const at::Tensor ones = at::ones_like(values.slice(0, 0, 1).slice(1, 0, 1));
  const at::Tensor counts = windows_of(ones, extents, pool.count_include_pad ? 1.0 : 0.0, 0.0).sum(-1);
  QUENCH_CHECK(counts.numel() == 0 || counts.min().item<double>() > 0, "a pooling window lies in the padding alone");
  if (mlas) return averages_mlas(windows, counts, x, y);
  return averages(sums, counts, x, y);
}

at::Tensor integer_global_average_pool(const QTensor& x, const Output& y) {
  const at::Tensor values = centered(x);
  QUENCH_CHECK(values.dim() >= 3, "GlobalAveragePool takes a tensor of rank 3 or more, not ", values.sizes());
  const at::Tensor flat = values.flatten(2), sums = flat.sum(2);
  QUENCH_CHECK(flat.size(2) > 0, "there is nothing to average in ", values.sizes());
  check_sums(sums, flat.size(2), x.type);
  std::vector<std::int64_t> shape(static_cast<std::size_t>(values.dim()), 1);
  shape[0] = values.size(0), shape[1] = values.size(1);
  const AccumulatorStep step{tensor_scale(x), {1.0F}, flat.size(2)};
  const Requantizer requantizer(y.arithmetic, step, output_codes(y.type, y.arithmetic, y.clip));
  return requantized(sums.view(shape), 0, requantizer, y.type.scheme);
}

}  // namespace quench
