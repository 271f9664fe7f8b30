// A tensor and its scales made ready for the raw loops, and results brought back to the tensor's layout.
#pragma once

#include <memory>

#include "kernels/affine/affine.h"
#include "kernels/affine/table.h"

namespace quench {

class Job {
 public:
  Job(const at::Tensor& x, const AffineArgs& args);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  const AffineView& view() const;
  const at::Tensor& x() const;                          // dense, with groups last
  at::Tensor like_x(const at::Tensor& other) const;     // other's values in the layout of x()
  at::Tensor result(const at::Tensor& computed) const;  // in the layout of the tensor given
  at::Tensor empty() const;                             // uninitialised, in the layout of x()
  at::Tensor sums() const;                              // uninitialised, one per channel
  at::Tensor scale_sums(const at::Tensor& sums) const;  // in the shape of the scale
  at::Tensor zero_sums(const at::Tensor& sums) const;   // in the shape of the zero point
  const Kernels& kernels() const;                       // for the tensor's device

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quench
