// Replay: a step that is captured once as a CUDA graph and then replayed, so that many small kernels cost one launch. A
// build without CUDA, and the CPU, run the step itself each time.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace quench {

class Replay {
 public:
  // `step` works on tensors that stay where they are, and asks nothing of the host. Until it is captured it runs on a
  // stream of its own, in order with the caller's.
  Replay(const std::string& device, std::function<void()> step);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  void run();  // one step; the first few are not captured yet, so that libraries can prepare themselves

  bool is_captured() const;
  // Why the step cannot be captured, and is run as it is; empty otherwise.
  const std::string& refusal() const { return refusal_; }

 private:
  struct State;
  std::function<void()> step_;
  std::string refusal_;
  std::unique_ptr<State> state_;  // null on the CPU
};

}  // namespace quench
