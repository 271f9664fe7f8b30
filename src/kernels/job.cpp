#include "kernels/job.h"

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>

#include "kernels/layout.h"
#include "quench/error.h"

namespace quench {

struct Job::State {
  at::Tensor original, x, scale, zero_point;
  at::Tensor given_scale, given_zero;
  const QScheme* scheme;
  bool moved = false;
  AffineView view;
  c10::OptionalDeviceGuard device;  // CUDA kernels run where the tensor lies
};

namespace {

// The scales in the order of the loops' channels; one element stays one.
at::Tensor flat_scales(const at::Tensor& scales, const QScheme& scheme, bool moved) {
  return moved && scales.numel() > 1 ? axis_to_end(scales, scheme) : scales.contiguous();
}

void check_scales(const at::Tensor& scales, const char* what, std::int64_t channels, const at::Tensor& x) {
  QUENCH_CHECK(scales.scalar_type() == at::kFloat, "the ", what, " must be float32");
  QUENCH_CHECK(scales.device() == x.device(), "the ", what, " is on ", scales.device().str(), ", the tensor on ",
               x.device().str());
  QUENCH_CHECK(scales.numel() == 1 || scales.numel() == channels, "the ", what, " has ", scales.numel(),
               " entries; the scheme takes 1 or ", channels);
}

}  // namespace

Job::Job(const at::Tensor& x, const AffineArgs& args) : state_(std::make_unique<State>()) {
  State& s = *state_;
  QUENCH_CHECK(x.scalar_type() == at::kFloat || x.scalar_type() == at::kInt, "the fused quantizers take float32");
  s.original = x;
  if (x.is_cuda()) s.device.reset_device(x.device());
  s.scheme = &args.scheme;
  s.given_scale = args.scale;
  s.given_zero = args.zero_point;
  s.moved = needs_move(x, args.scheme);
  args.scheme.scale_shape(x.sizes().vec());  // throws if the sizes do not fit the scheme
  s.x = s.moved ? axis_to_end(x, args.scheme) : dense(x);
  s.scale = flat_scales(args.scale, args.scheme, s.moved);
  s.zero_point = flat_scales(args.zero_point, args.scheme, s.moved);
  const Layout layout = layout_of(s.x, args.scheme);
  check_scales(s.scale, "scale", layout.channels, x);
  check_scales(s.zero_point, "zero point", layout.channels, x);
  const bool one = s.scale.numel() == 1 && s.zero_point.numel() == 1;
  s.view = one ? AffineView{1, 1, x.numel()} : AffineView{layout.outer, layout.channels, layout.inner};
  s.view.scale = s.scale.const_data_ptr<float>();
  s.view.zero_point = s.zero_point.const_data_ptr<float>();
  s.view.scale_step = s.scale.numel() > 1;
  s.view.zero_step = s.zero_point.numel() > 1;
  s.view.qmin = static_cast<float>(args.scheme.qmin());
  s.view.qmax = static_cast<float>(args.scheme.qmax());
  QUENCH_CHECK(!args.after_relu || x.is_cuda(), "a Relu and its quantizer are one loop on CUDA only");
  s.view.after_relu = args.after_relu;
  if (x.is_cuda()) s.view.sum_factor = static_cast<float>(args.gradient_factor);
  s.view.divide = args.by == QuantizeBy::kDivision;
}

Job::~Job() = default;

const AffineView& Job::view() const { return state_->view; }
const at::Tensor& Job::x() const { return state_->x; }

at::Tensor Job::like_x(const at::Tensor& other) const {
  const State& s = *state_;
  QUENCH_CHECK(other.sizes() == s.original.sizes(), "tensors of one operation must have one shape, not ",
               s.original.sizes(), " and ", other.sizes());
  QUENCH_CHECK(other.device() == s.original.device(), "two tensors of one operation are on different devices");
  if (s.moved) return axis_to_end(other, *s.scheme);
  if (other.strides() == s.x.strides()) return other;
  return at::empty_like(s.x, other.options(), at::MemoryFormat::Preserve).copy_(other);
}

at::Tensor Job::result(const at::Tensor& computed) const {
  const State& s = *state_;
  if (!s.moved) return computed;
  const at::Tensor back = axis_from_end(computed, *s.scheme);
  return at::empty_like(s.original, computed.options(), at::MemoryFormat::Preserve).copy_(back);
}

at::Tensor Job::empty() const {
  return at::empty_like(state_->x, state_->x.options().dtype(at::kFloat), at::MemoryFormat::Preserve);
}

at::Tensor Job::sums() const { return at::empty({state_->view.channels}, state_->x.options().dtype(at::kFloat)); }

namespace {

at::Tensor shaped(const at::Tensor& sums, const at::Tensor& like, const QScheme& scheme, bool moved) {
  if (like.numel() == 1) return (sums.numel() == 1 ? sums : sums.sum()).reshape(like.sizes());
  if (!moved) return sums.reshape(like.sizes());
  const auto shape = like.movedim(scheme.axis_of(static_cast<int>(like.dim())), -1).sizes().vec();
  return axis_from_end(sums.reshape(shape), scheme).contiguous();
}

}  // namespace

at::Tensor Job::scale_sums(const at::Tensor& sums) const {
  return shaped(sums, state_->given_scale, *state_->scheme, state_->moved);
}

at::Tensor Job::zero_sums(const at::Tensor& sums) const {
  return shaped(sums, state_->given_zero, *state_->scheme, state_->moved);
}

const Kernels& Job::kernels() const {
  if (state_->x.is_cuda()) return cuda_kernels();
  QUENCH_CHECK(state_->x.is_cpu(), "the fused quantizers run on the CPU and on CUDA, not on ",
               state_->x.device().str());
  return cpu_kernels();
}

}  // namespace quench
