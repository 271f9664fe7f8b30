#include "verify/compare.h"

#include <ATen/ATen.h>

#include "quench/error.h"

namespace quench {
namespace {

void check_shapes(const std::string& name, const at::Tensor& a, const at::Tensor& b) {
  QUENCH_CHECK(a.sizes() == b.sizes(), "the runtime's '", name, "' has the shape ", a.sizes(), ", the simulation's ",
               b.sizes());
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return a.numel() == 0 ? 0.0 : (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

}  // namespace

void CodeDifferences::add(const CodeDifferences& other) {
  codes += other.codes;
  different += other.different;
  largest = std::max(largest, other.largest);
}

CodeDifferences code_differences(const std::string& name, const at::Tensor& a, const at::Tensor& b) {
  check_shapes(name, a, b);
  CodeDifferences found{a.numel(), 0, 0};
  if (a.numel() == 0 || at::equal(a, b)) return found;
  const at::Tensor apart = (a.to(at::kInt) - b.to(at::kInt)).abs();
  found.different = apart.ne(0).sum().item<std::int64_t>();
  found.largest = apart.max().item<std::int64_t>();
  return found;
}

void OutputSums::add(const std::string& name, const at::Tensor& deployed, const at::Tensor& simulated) {
  check_shapes(name, deployed, simulated);
  if (simulated.numel() == 0) return;
  const at::Tensor a = deployed.to(at::kDouble), b = simulated.to(at::kDouble);
  QUENCH_CHECK(at::isfinite(a).eq(at::isfinite(b)).all().item<bool>(), "the runtime's '", name,
               "' is finite where the simulation's is not, or the other way round");
  const at::Tensor apart = (a - b).abs().nan_to_num(0.0);
  low_ = std::min(count_ == 0 ? b.min().item<double>() : low_, b.min().item<double>());
  high_ = std::max(count_ == 0 ? b.max().item<double>() : high_, b.max().item<double>());
  largest_ = std::max(largest_, apart.max().item<double>());
  sum_ += apart.sum().item<double>();
  count_ += apart.numel();
}

void OutputSums::add_whole(const std::string& name, const at::Tensor& deployed, const at::Tensor& integers) {
  check_shapes(name, deployed, integers);
  largest_whole_ = std::max(largest_whole_, largest_difference(deployed, integers));
}

OutputResult OutputSums::result(const std::string& name, double step) const {
  OutputResult result;
  result.name = name;
  result.quantized = step > 0.0;
  result.step = result.quantized ? step : (high_ - low_) / 255;
  result.largest = largest_;
  result.mean = count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_);
  result.largest_whole = largest_whole_;
  return result;
}

at::Tensor top1(const at::Tensor& output, Task task) {
  if (task == Task::kNextToken) return output.argmax(-1);
  return output.flatten(1).argmax(1);
}

}  // namespace quench
