// Scales of weights that move with the norms behind them. A layer with a live norm quantizes W * k, k = gamma / sigma
// (docs/numerics.md 8.2). With a scale that stays while k grows, more and more of the weight is cut off, and what is
// cut off makes sigma smaller and k larger still. A scale per channel can go along: FQ(W * k) / k is then the same for
// any k.
#pragma once

#include <vector>

#include "quench/graph.h"

namespace quench {

class NormScales {
 public:
  explicit NormScales(const Graph& graph);
  void begin();   // at the scales and norms as they are
  void follow();  // norms have moved since: so do the scales; on a GPU nothing waits

 private:
  struct One {
    const Value *gamma, *variance, *scale;
    double epsilon;
  };
  std::vector<at::Tensor> factors() const;  // |k| of each

  std::vector<One> all_;
  std::vector<at::Tensor> before_;
};

}  // namespace quench
