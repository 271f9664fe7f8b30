// The calibrated model that a deployed file was made from, compared with what runs: a faulty exporter shows here, even
// if file and simulation agree.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "deploy/compare_outputs.h"
#include "quench/executor.h"
#include "verify/layer_check.h"

namespace quench {

// NAME.quench.onnx beside the file or in the folder above: the one after which the file is called, or the only one with
// its inputs and outputs. "" if there is none.
std::string find_source_model(const DeployedModel& file);

class SourceCheck {
 public:
  SourceCheck(const std::string& path, const DeployedModel& file, Task task);

  void add(const Call& call, const NamedValues& deployed);
  void into(VerifyResult& result) const;

 private:
  std::string path_;
  std::int64_t quantizers_ = 0;
  std::vector<std::string> differences_;
  Graph graph_;
  std::unique_ptr<Executor> executor_;
  std::vector<OutputComparison> outputs_;
};

}  // namespace quench
