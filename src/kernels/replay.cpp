#include "kernels/replay.h"

#ifdef QUENCH_WITH_CUDA
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <exception>
#endif

namespace quench {

#ifdef QUENCH_WITH_CUDA

namespace {

// What is queued on `later` from now on waits for what is queued on `first` by now.
void order(const c10::Stream& first, const c10::Stream& later) {
  c10::Event event(c10::DeviceType::CUDA);
  event.record(first);
  event.block(later);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

struct Replay::State {
  explicit State(const c10::Device& device) : own(c10::cuda::getStreamFromPool(false, device.index())) {}

  // A stream cannot be captured if it is the default one, so that all is done on another.
  void aside(const std::function<void()>& body) const {
    const c10::cuda::CUDAStream callers = c10::cuda::getCurrentCUDAStream(own.device_index());
    order(callers, own);
    {
      const c10::cuda::CUDAStreamGuard guard(own);
      body();
    }
    order(own, callers);
  }

  // Throws if the step asks something of the host. Other threads may go on using the device meanwhile.
  void capture(const std::function<void()>& step) {
    graph.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
    try {
      step();
    } catch (...) {
      try {
        graph.capture_end();
      } catch (const std::exception&) {  // the first error is the one to tell
        // It ends before it has told the allocator, which would not free what other streams use until it is told.
        c10::cuda::CUDACachingAllocator::endAllocateToPool(own.device_index(), pool);
        c10::cuda::CUDACachingAllocator::releasePool(own.device_index(), pool);
      }
      throw;
    }
    graph.capture_end();
  }

  static constexpr int kPlainSteps = 3;
  const c10::cuda::CUDAStream own;
  const c10::MempoolId_t pool = at::cuda::graph_pool_handle();
  at::cuda::CUDAGraph graph;
  int done = 0;
  bool captured = false;
};

Replay::Replay(const std::string& device, std::function<void()> step) : step_(std::move(step)) {
  if (c10::Device(device).is_cuda()) state_ = std::make_unique<State>(c10::Device(device));
}

void Replay::run() {
  if (!state_ || !refusal_.empty()) return step_();
  if (state_->done++ < State::kPlainSteps) return state_->aside(step_);
  if (!state_->captured) {
    try {
      state_->aside([&] { state_->capture(step_); });
      state_->captured = true;
    } catch (const std::exception& error) {
      refusal_ = first_line(error.what());
      return step_();
    }
  }
  state_->graph.replay();
}

bool Replay::is_captured() const { return state_ && state_->captured; }

#else

struct Replay::State {};
Replay::Replay(const std::string&, std::function<void()> step) : step_(std::move(step)) {}
void Replay::run() { step_(); }
bool Replay::is_captured() const { return false; }

#endif

Replay::~Replay() = default;

}  // namespace quench
