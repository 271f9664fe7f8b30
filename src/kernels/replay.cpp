#include "kernels/replay.h"

#ifdef QUENCH_WITH_CUDA
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/Device.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
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
  ~State() { own.synchronize(); }

  static constexpr int kPlainSteps = 3;
  c10::cuda::CUDAStream before, own;
  c10::cuda::CUDAStreamGuard guard;
  at::cuda::CUDAGraph graph;
  int done = 0;
};

Replay::Replay(const std::string& device, std::function<void()> step) : step_(std::move(step)) {
  if (c10::Device(device).is_cuda()) state_ = std::make_unique<State>(c10::Device(device));
}

void Replay::run() {
  if (!state_ || state_->done < State::kPlainSteps) {
    if (state_) ++state_->done;
    return step_();
  }
  if (state_->done++ == State::kPlainSteps) {
    state_->graph.capture_begin();
    step_();
    state_->graph.capture_end();
  }
  state_->graph.replay();
}

#else

struct Replay::State {};
Replay::Replay(const std::string&, std::function<void()> step) : step_(std::move(step)) {}
void Replay::run() { step_(); }

#endif

Replay::~Replay() = default;

}  // namespace quench
