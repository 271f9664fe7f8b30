// A loaded TorchScript program: runs its forward, bounded, and as a trace wants it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "quench/error.h"

namespace at {
class Tensor;
}
namespace torch::jit {
struct Module;
}

namespace quench {

// What LibTorch throws while reading a file is the file's fault, std::out_of_range included.
template <typename Body>
auto in_libtorch(const char* what, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    fail(what, ": ", plain_message(error));
  }
}

struct ScriptResults {
  std::vector<at::Tensor> tensors;
  std::vector<std::string> names;  // of a dict's entries; else empty
};

class ScriptProgram {
 public:
  explicit ScriptProgram(const std::string& path);  // checks the program, and runs nothing of it
  ~ScriptProgram();

  const torch::jit::Module& module() const;

  // While a trace is recorded our interpreter runs the program; otherwise LibTorch does, once it is known that it ends.
  ScriptResults run(const std::vector<at::Tensor>& inputs);

  // Names of the tensors that forward takes; those that may be left out come last, and are where `count` ends.
  std::vector<std::string> input_names(std::size_t count) const;

  // For another attempt at a graph: what stays in the trace from now on, seen in the traces since forget_runs. False if
  // there is nothing. Loops whose turn counts differed, as loops; comparisons of numbers that were not the same, with
  // the branches that depend on them; of those with equal results in all traces only those that would differ for some
  // other size of the dim that changes: it was `size`, twice and three times that.
  bool keep_varying_loops();
  bool keep_varying_comparisons();
  bool keep_what_may_flip(std::int64_t size);
  void forget_runs();

 private:
  struct Loaded;
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace quench
