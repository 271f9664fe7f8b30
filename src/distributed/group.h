// The connections of one process to the others of its job: what Processes does where there are several.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quench/distributed.h"

namespace at {
class Tensor;
}

namespace quench {

enum class Reduction { kSum, kMax };

class Group {
 public:
  Group(const ProcessPlace& place, const ProcessOptions& options);
  ~Group();

  // In place, for any tensor; the tensor of start_reduce is contiguous and lives until the end is waited for.
  void reduce(at::Tensor& tensor, Reduction how);
  std::function<void()> start_reduce(at::Tensor& tensor, Reduction how);
  void broadcast(at::Tensor& tensor);
  std::vector<std::string> gather(const std::string& bytes);
  void barrier();
  void agree_to_stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quench
