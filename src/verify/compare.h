// Sums of what two runs differ by.
#pragma once

#include <string>

#include "quench/verify.h"

namespace at {
class Tensor;
}

namespace quench {

// Throws where the shapes differ, naming the tensor.
CodeDifferences code_differences(const std::string& name, const at::Tensor& a, const at::Tensor& b);

// Differences of one output, batch by batch.
class OutputSums {
 public:
  void add(const std::string& name, const at::Tensor& deployed, const at::Tensor& simulated);
  void add_whole(const std::string& name, const at::Tensor& deployed, const at::Tensor& integers);
  // `step` 0: not quantized.
  OutputResult result(const std::string& name, double step) const;

 private:
  double sum_ = 0.0, largest_ = 0.0, largest_whole_ = 0.0, low_ = 0.0, high_ = 0.0;
  std::int64_t count_ = 0;
};

// The class of each item: over the last axis for texts ([batch, length, vocabulary]), else over all but the first.
at::Tensor top1(const at::Tensor& output, Task task);

}  // namespace quench
