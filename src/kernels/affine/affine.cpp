#include "kernels/affine/affine.h"

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>

#include "kernels/affine/bfloat16.h"
#include "kernels/job.h"
#include "kernels/layout.h"
#include "quench/error.h"

namespace quench {
namespace {

// The plain twins share everything but the loops.
struct Chosen {
  Chosen(const at::Tensor& x, const AffineArgs& args, bool plain)
      : job(x, args), loops(plain ? ref_kernels() : job.kernels()) {
    QUENCH_CHECK(!plain || x.is_cpu(), "the plain loops run on the CPU");
  }
  Job job;
  const Kernels& loops;
};

at::Tensor fake_quantize_by(const at::Tensor& x, const AffineArgs& args, bool plain) {
  const Chosen on(x, args, plain);
  const at::Tensor y = on.job.empty();
  on.loops.fake_quantize(on.job.view(), on.job.x().const_data_ptr<float>(), y.mutable_data_ptr<float>());
  return on.job.result(y);
}

void masked_by(const at::Tensor& x, const AffineArgs& args, at::Tensor& y, at::Tensor& mask, bool plain) {
  const Chosen on(x, args, plain);
  const at::Tensor out = on.job.empty();
  const at::Tensor inside = at::empty_like(out, out.options().dtype(at::kBool), at::MemoryFormat::Preserve);
  on.loops.masked(on.job.view(), on.job.x().const_data_ptr<float>(), out.mutable_data_ptr<float>(),
                  inside.mutable_data_ptr<bool>());
  y = on.job.result(out);
  mask = on.job.result(inside);
}

at::Tensor masked_gradient_by(const at::Tensor& dy, const at::Tensor& mask, bool plain) {
  QUENCH_CHECK(dy.sizes() == mask.sizes(), "gradient and mask differ in shape");
  QUENCH_CHECK(dy.scalar_type() == at::kFloat && mask.scalar_type() == at::kBool, "a float32 gradient, a bool mask");
  QUENCH_CHECK(dy.device() == mask.device(), "gradient and mask are on different devices");
  const c10::OptionalDeviceGuard device(dy.is_cuda() ? std::optional(dy.device()) : std::nullopt);
  const at::Tensor on = dense(mask);
  const at::Tensor dx = at::empty_like(on, dy.options(), at::MemoryFormat::Preserve);
  const at::Tensor from =
      dy.strides() == on.strides() ? dy : at::empty_like(on, dy.options(), at::MemoryFormat::Preserve).copy_(dy);
  const Kernels& loops = plain ? ref_kernels() : dy.is_cuda() ? cuda_kernels() : cpu_kernels();
  loops.masked_gradient(dx.numel(), from.const_data_ptr<float>(), on.const_data_ptr<bool>(),
                        dx.mutable_data_ptr<float>());
  return dx;
}

struct LsqResults {
  at::Tensor &dx, &ds, &dz;
};

void lsq_backward_by(const at::Tensor& dy, const at::Tensor& x, const AffineArgs& args, const LsqResults& results,
                     bool plain) {
  const Chosen on(x, args, plain);
  const at::Tensor gradient = on.job.like_x(dy), dx = on.job.empty(), ds = on.job.sums(), dz = on.job.sums();
  on.loops.lsq_backward(on.job.view(), gradient.const_data_ptr<float>(), on.job.x().const_data_ptr<float>(),
                        dx.mutable_data_ptr<float>(), ds.mutable_data_ptr<float>(), dz.mutable_data_ptr<float>());
  results.dx = on.job.result(dx);
  results.ds = on.job.scale_sums(ds);
  results.dz = on.job.zero_sums(dz);
}

// The loops of CUDA do it themselves.
void scale_sums(const AffineArgs& args, at::Tensor& ds, at::Tensor& dz) {
  if (args.gradient_factor == 1.0) return;
  ds.mul_(args.gradient_factor);
  dz.mul_(args.gradient_factor);
}

}  // namespace

at::Tensor fake_quantize(const at::Tensor& x, const AffineArgs& args) {
  return has_bfloat16_loops(x, args) ? fake_quantize_bfloat16(x, args) : fake_quantize_by(x, args, false);
}
at::Tensor fake_quantize_ref(const at::Tensor& x, const AffineArgs& args) { return fake_quantize_by(x, args, true); }

at::Tensor quantize_codes(const at::Tensor& x, const AffineArgs& args) {
  const Job job(x, args);
  const at::Tensor codes = at::empty_like(job.x(), x.options().dtype(at::kInt), at::MemoryFormat::Preserve);
  job.kernels().codes(job.view(), job.x().const_data_ptr<float>(), codes.mutable_data_ptr<std::int32_t>());
  return job.result(codes);
}

at::Tensor dequantize_codes(const at::Tensor& codes, const AffineArgs& args) {
  const Job job(codes, args);
  const at::Tensor y = job.empty();
  job.kernels().dequantize(job.view(), job.x().const_data_ptr<std::int32_t>(), y.mutable_data_ptr<float>());
  return job.result(y);
}

void fake_quantize_masked(const at::Tensor& x, const AffineArgs& args, at::Tensor& y, at::Tensor& mask) {
  if (has_bfloat16_loops(x, args)) return fake_quantize_masked_bfloat16(x, args, y, mask);
  masked_by(x, args, y, mask, false);
}
void fake_quantize_masked_ref(const at::Tensor& x, const AffineArgs& args, at::Tensor& y, at::Tensor& mask) {
  masked_by(x, args, y, mask, true);
}

at::Tensor masked_gradient(const at::Tensor& dy, const at::Tensor& mask) {
  const bool narrow = dy.scalar_type() == at::kBFloat16 && dy.is_cpu() && mask.is_non_overlapping_and_dense();
  return narrow ? masked_gradient_bfloat16(dy, mask) : masked_gradient_by(dy, mask, false);
}
at::Tensor masked_gradient_ref(const at::Tensor& dy, const at::Tensor& mask) {
  return masked_gradient_by(dy, mask, true);
}

void lsq_backward(const at::Tensor& dy, const at::Tensor& x, const AffineArgs& args, at::Tensor& dx, at::Tensor& ds,
                  at::Tensor& dz) {
  if (has_bfloat16_loops(x, args))
    lsq_backward_bfloat16(dy, x, args, dx, ds, dz);
  else
    lsq_backward_by(dy, x, args, {dx, ds, dz}, false);
  if (x.is_cpu()) scale_sums(args, ds, dz);
}
void lsq_backward_ref(const at::Tensor& dy, const at::Tensor& x, const AffineArgs& args, at::Tensor& dx, at::Tensor& ds,
                      at::Tensor& dz) {
  lsq_backward_by(dy, x, args, {dx, ds, dz}, true);
  scale_sums(args, ds, dz);
}

}  // namespace quench
