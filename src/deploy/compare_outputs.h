// Differences of one output of two runs, batch by batch.
#pragma once

#include <string>
#include <vector>

#include "quench/compare.h"
#include "quench/data.h"
#include "quench/graph.h"

namespace at {
class Tensor;
}

namespace quench {

// Vectors of scores, one per row: over all but the first axis of classified items, over the last axis for texts. For
// other outputs, over the axis that usually holds classes: the second for images of classes, else the last.
at::Tensor predictions_of(const at::Tensor& output, Task task);

class OutputComparison {
 public:
  // `output` of the simulation says whether it is quantized, and whether it holds probabilities.
  OutputComparison(const Value& output, Task task);

  // Throws if the shapes differ, naming the output.
  void add(const at::Tensor& found, const at::Tensor& simulated);
  void add_whole(const at::Tensor& found, const at::Tensor& integers);
  OutputResult result(const OutputBounds& bounds) const;

 private:
  void check_shapes(const at::Tensor& a, const at::Tensor& b) const;
  at::Tensor scores(const at::Tensor& output) const;
  void add_discrete(const at::Tensor& found, const at::Tensor& simulated);
  void add_rows(const at::Tensor& a, const at::Tensor& b);  // scores: found, simulated
  void add_range(const at::Tensor& simulated);

  OutputResult result_;  // what does not depend on the bounds
  Task task_;
  double sum_ = 0.0, low_ = 0.0, high_ = 0.0;
  std::int64_t count_ = 0;
  std::vector<float> farthest_;  // per prediction: how far its farthest element is off
  std::vector<float> leads_;     // of each change of top-1: by how much the first of the simulation leads
};

}  // namespace quench
