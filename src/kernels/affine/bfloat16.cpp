#include "kernels/affine/bfloat16.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/affine/table.h"
#include "kernels/parallel.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::int64_t kBlock = 2 * kChunk;  // in float32 three of them fit the second cache

using Narrow = std::uint16_t;  // the bits
using Block = std::array<float, kBlock>;

const Narrow* in(const at::Tensor& x) { return static_cast<const Narrow*>(x.const_data_ptr()); }
Narrow* out(const at::Tensor& x) { return static_cast<Narrow*>(x.mutable_data_ptr()); }

void widen(const Narrow* from, std::int64_t count, Block& to) { simd().widen_bfloat16(from, count, to.data()); }
void narrow(const Block& from, std::int64_t count, Narrow* to) { simd().narrow_to_bfloat16(from.data(), count, to); }

AffineView view_of(const AffineArgs& args, std::int64_t count) {
  AffineView view{1, 1, count};
  view.scale = args.scale.const_data_ptr<float>();
  view.zero_point = args.zero_point.const_data_ptr<float>();
  view.qmin = static_cast<float>(args.scheme.qmin());
  view.qmax = static_cast<float>(args.scheme.qmax());
  view.divide = args.by == QuantizeBy::kDivision;
  return view;
}

// body(number, begin, count) for each block of [0, total).
template <class Body>
void each_block(std::int64_t total, const Body& body) {
  in_parallel((total + kBlock - 1) / kBlock, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block)
      body(block, block * kBlock, std::min(kBlock, total - block * kBlock));
  });
}

// Values of `other` in the memory order of x.
at::Tensor like(const at::Tensor& x, const at::Tensor& other) {
  QUENCH_CHECK(other.sizes() == x.sizes(), "tensors of one operation must have one shape, not ", x.sizes(), " and ",
               other.sizes());
  const bool fits = other.strides() == x.strides() && other.scalar_type() == at::kBFloat16;
  return fits ? other : at::empty_like(x, x.options().dtype(at::kBFloat16), at::MemoryFormat::Preserve).copy_(other);
}

at::Tensor room_like(const at::Tensor& x) { return at::empty_like(x, at::MemoryFormat::Preserve); }

}  // namespace

bool has_bfloat16_loops(const at::Tensor& x, const AffineArgs& args) {
  return x.scalar_type() == at::kBFloat16 && x.is_cpu() && x.is_non_overlapping_and_dense() &&
         args.scale.numel() == 1 && args.zero_point.numel() == 1;
}

at::Tensor fake_quantize_bfloat16(const at::Tensor& x, const AffineArgs& args) {
  const at::Tensor y = room_like(x);
  each_block(x.numel(), [&, from = in(x), to = out(y)](std::int64_t, std::int64_t begin, std::int64_t count) {
    Block wide, result;
    widen(from + begin, count, wide);
    cpu_kernels().fake_quantize(view_of(args, count), wide.data(), result.data());
    narrow(result, count, to + begin);
  });
  return y;
}

void fake_quantize_masked_bfloat16(const at::Tensor& x, const AffineArgs& args, at::Tensor& y, at::Tensor& mask) {
  y = room_like(x);
  mask = at::empty_like(x, x.options().dtype(at::kBool), at::MemoryFormat::Preserve);
  bool* inside = mask.mutable_data_ptr<bool>();
  each_block(x.numel(), [&, from = in(x), to = out(y)](std::int64_t, std::int64_t begin, std::int64_t count) {
    Block wide, result;
    widen(from + begin, count, wide);
    cpu_kernels().masked(view_of(args, count), wide.data(), result.data(), inside + begin);
    narrow(result, count, to + begin);
  });
}

at::Tensor masked_gradient_bfloat16(const at::Tensor& dy, const at::Tensor& mask) {
  const at::Tensor gradient = like(mask, dy), dx = room_like(gradient);
  const bool* inside = mask.const_data_ptr<bool>();
  each_block(dx.numel(), [&, from = in(gradient), to = out(dx)](std::int64_t, std::int64_t begin, std::int64_t count) {
    for (std::int64_t i = begin; i < begin + count; ++i) to[i] = inside[i] ? from[i] : Narrow{0};
  });
  return dx;
}

void lsq_backward_bfloat16(const at::Tensor& dy, const at::Tensor& x, const AffineArgs& args, at::Tensor& dx,
                           at::Tensor& ds, at::Tensor& dz) {
  const at::Tensor gradient = like(x, dy);
  dx = room_like(x);
  struct Sums {
    float ds, dz;
  };
  std::vector<Sums> parts(static_cast<std::size_t>((x.numel() + kBlock - 1) / kBlock));
  each_block(x.numel(), [&, slope = in(gradient), from = in(x), to = out(dx)](std::int64_t number, std::int64_t begin,
                                                                              std::int64_t count) {
    Block wide, wide_dy, result;
    widen(from + begin, count, wide);
    widen(slope + begin, count, wide_dy);
    Sums& sums = parts[static_cast<std::size_t>(number)];
    cpu_kernels().lsq_backward(view_of(args, count), wide_dy.data(), wide.data(), result.data(), &sums.ds, &sums.dz);
    narrow(result, count, to + begin);
  });
  double scale_sum = 0.0, zero_sum = 0.0;
  for (const Sums& part : parts) {
    scale_sum += static_cast<double>(part.ds);
    zero_sum += static_cast<double>(part.dz);
  }
  ds = at::full(args.scale.sizes(), scale_sum, at::kFloat);
  dz = at::full(args.zero_point.sizes(), zero_sum, at::kFloat);
}

at::Tensor dsq_backward_bfloat16(const at::Tensor& dy, const at::Tensor& x, const AffineArgs& args, double alpha) {
  const at::Tensor gradient = like(x, dy), dx = room_like(x);
  each_block(x.numel(), [&, slope = in(gradient), from = in(x), to = out(dx)](std::int64_t, std::int64_t begin,
                                                                              std::int64_t count) {
    Block wide, wide_dy, result;
    widen(from + begin, count, wide);
    widen(slope + begin, count, wide_dy);
    cpu_kernels().dsq_backward(view_of(args, count), dsq_shape(alpha), wide_dy.data(), wide.data(), result.data());
    narrow(result, count, to + begin);
  });
  return dx;
}

}  // namespace quench
