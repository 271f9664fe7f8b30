// The classes that a model considers most likely, with ties broken the same way everywhere: the lowest index first.
#pragma once

#include <cstdint>
#include <vector>

namespace at {
class Tensor;
}

namespace quench {

struct RankedClass {
  std::int64_t index = -1;
  float logit = 0.0F;
};

// Of each row of [rows, classes], the `count` greatest, greatest first; NaN counts as the greatest of all.
std::vector<std::vector<RankedClass>> top_classes(const at::Tensor& logits, std::int64_t count);

// The greatest along the last dim, which is gone from the result (int64).
at::Tensor top_class(const at::Tensor& logits);

}  // namespace quench
