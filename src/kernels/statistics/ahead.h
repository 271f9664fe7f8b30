// Statistics of many tensors of a GPU found together before anybody asks: a launch or two and one copy to the CPU for
// all, where each min_max() and histogram() would wait for its own. Which histograms will be asked for is learned from
// the calls before; a wrong guess is only computed once more. On the CPU, and per channel, nothing is found ahead.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/statistics/statistics.h"

namespace quench {

class Ahead {
 public:
  Ahead();
  ~Ahead();
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  // Until forget() or the next call, min_max() and histogram() on this thread answer for these tensors from what was
  // found; the results lie on the CPU. The n-th tensor of one call is taken for the successor of the n-th of the last.
  void look(const std::vector<at::Tensor>& tensors);
  void forget();

  std::int64_t answered() const { return answered_; }  // so many times so far

 private:
  friend bool min_max_ahead(const at::Tensor&, const QScheme&, at::Tensor&, at::Tensor&);
  friend bool histogram_ahead(const at::Tensor&, const HistogramArgs&, at::Tensor&);
  struct State;
  std::unique_ptr<State> state_;
  std::int64_t answered_ = 0;
};

// What min_max() and histogram() ask first. False: nothing was found ahead.
bool min_max_ahead(const at::Tensor& x, const QScheme& scheme, at::Tensor& min, at::Tensor& max);
bool histogram_ahead(const at::Tensor& x, const HistogramArgs& args, at::Tensor& counts);

}  // namespace quench
