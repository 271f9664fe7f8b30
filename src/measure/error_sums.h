// Running sums over images of how far two tensors are apart: docs/numerics.md 13.
#pragma once

#include <cstdint>
#include <vector>

#include "quench/profile.h"

namespace at {
class Tensor;
}

namespace quench {

class ErrorSums {
 public:
  // x and y have the same shape; dimension 0 is taken as images if its size is `images`, else all is one.
  void add(const at::Tensor& x, const at::Tensor& y, std::int64_t images);
  TensorError result() const;

 private:
  struct One {  // an image's
    double xx = 0.0, yy = 0.0, xy = 0.0, dd = 0.0, elements = 0.0, max = 0.0;
  };
  static One compared(const float* x, const float* y, std::int64_t length);

  std::vector<One> all_;
  double max_ = 0.0;
};

}  // namespace quench
