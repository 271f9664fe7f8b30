// An executor's runs on a GPU: for each set of input shapes captured once as a CUDA graph and then replayed. What
// cannot be captured (it reads numbers that the device computes), and everything on the CPU, is run as it is.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quench/executor.h"

namespace quench {

class ReplayedRun {
 public:
  // Between runs the executor's options and hooks stay as they are.
  ReplayedRun(Executor& executor, std::vector<std::string> fetches);
  ~ReplayedRun();
  // Results stay valid until the next run.
  NamedValues run(const NamedValues& feeds);

 private:
  struct Form;
  Executor& executor_;
  const std::vector<std::string> fetches_;
  std::unique_ptr<class Upload> upload_;
  std::map<std::string, std::unique_ptr<Form>> forms_;  // by types of the inputs
};

}  // namespace quench
