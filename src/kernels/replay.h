// Replay: a training step that is captured once as a CUDA graph and then replayed, so that a step of many small kernels
// costs one launch. A build without CUDA, and the CPU, run the step itself each time.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace quench {

class Replay {
 public:
  // `step` works on tensors that stay where they are, and asks nothing of the host. As long as the object lives, the
  // device's current stream is one of its own.
  Replay(const std::string& device, std::function<void()> step);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  void run();  // one step; the first few are not captured yet, so that libraries can prepare themselves

 private:
  struct State;
  std::function<void()> step_;
  std::unique_ptr<State> state_;  // null on the CPU
};

}  // namespace quench
