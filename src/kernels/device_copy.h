// Copies between the CPU's memory and a GPU's that nobody waits for until what they bring is needed.
#pragma once

#include <memory>
#include <string>

namespace at {
class Tensor;
}

namespace quench {

// To a device, on a stream of its own: while the device still computes, the next batch arrives.
class Upload {
 public:
  explicit Upload(const std::string& device);
  ~Upload();
  // What is queued on the caller's stream from now on finds the copy there. The same tensor if it is there already.
  at::Tensor copy(const at::Tensor& x);

 private:
  struct State;
  std::unique_ptr<State> state_;  // null: to the CPU, which is where tensors are
};

// From a device: queued on the caller's stream at once, waited for by `wait`.
class Download {
 public:
  explicit Download(const at::Tensor& x);
  ~Download();
  Download(Download&&) noexcept;
  Download& operator=(Download&&) noexcept;
  const at::Tensor& wait();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quench
