// A runner is a command that runs a model on arrays: RUNNER MODEL INPUTS.npz OUTPUTS.npz (docs/runners.md). Those of
// the registered runtimes are scripts of ours.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "quench/executor.h"
#include "quench/verify.h"
#include "verify/scratch_folder.h"

namespace quench {

class Runner {
 public:
  // `description` is for messages: the runtime's name, or the command that a user gave.
  Runner(std::string description, std::vector<std::string> command, double timeout_seconds);

  // Items along the first axis of every input that is not `shared` (those are fed as they are with each slice of the
  // items) -> all outputs of the model, by name. Throws if the runner fails, with its output.
  NamedValues run(const std::string& model, const NamedValues& inputs, ScratchFolder& folder,
                  const std::set<std::string>& shared = {}) const;

  const std::string& description() const { return description_; }

 private:
  std::string description_;
  std::vector<std::string> command_;
  double timeout_;
  std::string hint_;                                                           // what to do if it cannot be started
  NamedValues (*function_)(const std::string&, const NamedValues&) = nullptr;  // instead of the command

  friend Runner make_runner(const VerifyOptions& options);
};

// The user's command if one is given, else the script of the runtime.
Runner make_runner(const VerifyOptions& options);

}  // namespace quench
