#include "verify/code_differences.h"

#include <ATen/ATen.h>

#include "quench/error.h"

namespace quench {

void CodeDifferences::add(const CodeDifferences& other) {
  codes += other.codes;
  different += other.different;
  largest = std::max(largest, other.largest);
}

CodeDifferences code_differences(const std::string& name, const at::Tensor& a, const at::Tensor& b) {
  QUENCH_CHECK(a.sizes() == b.sizes(), "the runtime's '", name, "' has the shape ", a.sizes(), ", the simulation's ",
               b.sizes());
  CodeDifferences found{a.numel(), 0, 0};
  if (a.numel() == 0 || at::equal(a, b)) return found;
  const at::Tensor apart = (a.to(at::kInt) - b.to(at::kInt)).abs();
  found.different = apart.ne(0).sum().item<std::int64_t>();
  found.largest = apart.max().item<std::int64_t>();
  return found;
}

}  // namespace quench
