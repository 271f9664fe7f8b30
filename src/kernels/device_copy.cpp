#include "kernels/device_copy.h"

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace quench {
namespace {

c10::Stream current_stream(const c10::Device& device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

// "cuda" as "cuda:0", which is what tensors say.
c10::Device with_index(const c10::Device& device) {
  return device.has_index() ? device : c10::impl::VirtualGuardImpl(device.type()).getDevice();
}

}  // namespace

struct Upload::State {
  explicit State(const c10::Device& to)
      : device(with_index(to)), own(c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device)) {}
  c10::Device device;
  c10::Stream own;
};

Upload::Upload(const std::string& device) {
  if (!c10::Device(device).is_cpu()) state_ = std::make_unique<State>(c10::Device(device));
}
Upload::~Upload() = default;

at::Tensor Upload::copy(const at::Tensor& x) {
  if (!state_ || x.device() == state_->device) return x;
  if (!x.is_cpu()) return x.to(state_->device);
  at::Tensor there;
  {
    const c10::StreamGuard aside(state_->own);
    const at::Tensor pinned = x.is_pinned() ? x : x.pin_memory();
    there = pinned.to(state_->device, /*non_blocking=*/true);
  }
  const c10::Stream callers = current_stream(state_->device);
  c10::Event arrived(state_->device.type());
  arrived.record(state_->own);
  arrived.block(callers);
  there.record_stream(callers);
  return there;
}

struct Download::State {
  at::Tensor here;
  std::unique_ptr<c10::Event> arrived;  // null: it was here
};

Download::Download(const at::Tensor& x) : state_(std::make_unique<State>()) {
  if (x.is_cpu()) {
    state_->here = x;
    return;
  }
  state_->here = at::empty(x.sizes(), x.options().device(at::kCPU).pinned_memory(true));
  state_->here.copy_(x, /*non_blocking=*/true);
  state_->arrived = std::make_unique<c10::Event>(x.device().type());
  state_->arrived->record(current_stream(x.device()));
}
Download::~Download() = default;
Download::Download(Download&&) noexcept = default;
Download& Download::operator=(Download&&) noexcept = default;

const at::Tensor& Download::wait() {
  if (state_->arrived) state_->arrived->synchronize();
  return state_->here;
}

}  // namespace quench
