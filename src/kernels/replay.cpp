#include "kernels/replay.h"

#ifdef QUENCH_WITH_CUDA
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/Device.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <exception>
#endif

namespace quench {

#ifdef QUENCH_WITH_CUDA

struct Replay::State {
  explicit State(const c10::Device& device)
      : before(c10::cuda::getCurrentCUDAStream(device.index())),
        own(c10::cuda::getStreamFromPool(false, device.index())),
        guard(own) {
    before.synchronize();
  }
  ~State() {
    try {
      own.synchronize();
    } catch (const std::exception&) {  // whoever uses the device next hears of it
    }
  }

  // False if the step asks something of the host that cannot be captured: then it is run as it is, always.
  bool capture(const std::function<void()>& step) {
    graph.capture_begin();
    try {
      step();
      graph.capture_end();
      return true;
    } catch (const std::exception&) {
      try {
        graph.capture_end();
      } catch (const std::exception&) {  // it was not one
      }
      return false;
    }
  }

  static constexpr int kPlainSteps = 3;
  c10::cuda::CUDAStream before, own;
  c10::cuda::CUDAStreamGuard guard;
  at::cuda::CUDAGraph graph;
  int done = 0;
  bool captured = false;
};

Replay::Replay(const std::string& device, std::function<void()> step) : step_(std::move(step)) {
  if (c10::Device(device).is_cuda()) state_ = std::make_unique<State>(c10::Device(device));
}

void Replay::run() {
  if (!state_ || state_->done < State::kPlainSteps) {
    if (state_) ++state_->done;
    return step_();
  }
  if (state_->done++ == State::kPlainSteps) state_->captured = state_->capture(step_);
  if (!state_->captured) return step_();
  state_->graph.replay();
}

#else

struct Replay::State {};
Replay::Replay(const std::string&, std::function<void()> step) : step_(std::move(step)) {}
void Replay::run() { step_(); }

#endif

Replay::~Replay() = default;

}  // namespace quench
