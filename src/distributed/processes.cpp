#include <ATen/ATen.h>

#include "distributed/group.h"
#include "quench/distributed.h"

namespace quench {

Processes::Processes() = default;
Processes::Processes(const ProcessPlace& place, const ProcessOptions& options)
    : place_(place), group_(place.size > 1 ? std::make_unique<Group>(place, options) : nullptr) {}
Processes::~Processes() = default;

void Processes::sum(at::Tensor& tensor) const {
  if (group_) group_->reduce(tensor, Reduction::kSum);
}

void Processes::mean(at::Tensor& tensor) const {
  if (!group_) return;
  sum(tensor);
  tensor.detach().div_(size());
}

void Processes::max(at::Tensor& tensor) const {
  if (group_) group_->reduce(tensor, Reduction::kMax);
}

void Processes::broadcast(at::Tensor& tensor) const {
  if (group_) group_->broadcast(tensor);
}

std::string Processes::broadcast(const std::string& bytes) const {
  return group_ ? gather(is_first() ? bytes : "").front() : bytes;
}

std::vector<std::string> Processes::gather(const std::string& bytes) const {
  return group_ ? group_->gather(bytes) : std::vector<std::string>{bytes};
}

void Processes::barrier() const {
  if (group_) group_->barrier();
}

std::function<void()> Processes::start_sum(at::Tensor& tensor) const {
  return group_ ? group_->start_reduce(tensor, Reduction::kSum) : [] {};
}

}  // namespace quench
