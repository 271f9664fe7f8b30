// For metrics that hold an output against a target, or against the same output of the float network (to=float).
#pragma once

#include "quench/metric.h"

namespace quench {

class Compared {
 public:
  explicit Compared(const Options& options);
  static std::vector<OptionInfo> options();  // output, to, target

  MetricNeed need() const { return to_float_ ? MetricNeed::kFloat : MetricNeed::kTargets; }
  const std::string& output() const { return output_; }
  // The output and what it is held against, as doubles in one row each. Throws if they differ in shape.
  std::pair<at::Tensor, at::Tensor> rows(const MetricItem& item) const;

 private:
  std::string output_, target_;
  bool to_float_;
};

}  // namespace quench
