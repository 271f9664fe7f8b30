// Running sums over items of how far two tensors are apart: docs/numerics.md 13.
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
  // x and y have the same shape; dimension 0 is taken as items if its size is `items`, else all is one.
  void add(const at::Tensor& x, const at::Tensor& y, std::int64_t items);
  TensorError result() const;

 private:
  struct One {  // an item's
    double xx = 0.0, yy = 0.0, xy = 0.0, dd = 0.0, elements = 0.0, max = 0.0;
  };
  static One compared(const float* x, const float* y, std::int64_t length);

  std::vector<One> all_;
  double max_ = 0.0;
};

}  // namespace quench
