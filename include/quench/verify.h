// Verification: a deployed file run in the real runtime, beside its simulation, on the same data; tensor by tensor
// where asked. DESIGN 10.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quench/data.h"
#include "quench/graph.h"
#include "quench/registry.h"

namespace quench {

// A runtime by name.
struct RuntimeEntry {
  static constexpr const char* kKind = "runtime";
  std::string script;          // in tools/runners: .py for Python, .mjs for Node
  std::string rule;            // how it requantizes: a name of quant/requantize.h
  double bound = 0.0;          // the share of codes that may differ from that rule, each by one
  bool rounds_biases = false;  // float biases go into int32
  bool fuses_add = false;      // a Conv takes the Add behind it in, and what is between them is not rounded
};
using RuntimeRegistry = Registry<RuntimeEntry>;

struct VerifyOptions {
  std::string runtime = "onnxruntime";
  std::string runner;           // a command in the place of the runtime's script
  std::string rule;             // "": the runtime's
  std::optional<double> bound;  // of local differences, a share of the codes; none: the runtime's
  double output_bound = 4.0;    // of the outputs' mean difference, in steps
  bool layers = false;
  std::int64_t batch = 0;  // items a call of the runner; 0: as many as keep the files small
  double timeout = 600.0;  // seconds a call of the runner may take
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

struct CodeDifferences {
  std::int64_t codes = 0, different = 0, largest = 0;
  double share() const { return codes == 0 ? 0.0 : static_cast<double>(different) / static_cast<double>(codes); }
  void add(const CodeDifferences& other);
};

// A quantized tensor of the deployed file.
struct TensorResult {
  std::string name, layer;  // the tensor of codes, and "node 'conv1' (Conv)"
  bool exact = true;        // computed by integers alone; else float32 sums are in it
  CodeDifferences local;    // the layer recomputed from the runtime's own input codes, under its rule
  CodeDifferences whole;    // the network under that rule, from its input on
};

// An output: the runtime's less the simulation's.
struct OutputResult {
  std::string name;
  double step = 0.0;  // of its codes; of one that is not quantized, 1/255 of the simulation's range
  bool quantized = false;
  double largest = 0.0, mean = 0.0;
  double largest_whole = 0.0;  // with layers: from the integer network's
};

struct VerifyResult {
  std::string file, runtime, rule;
  std::int64_t items = 0;
  bool labelled = false;
  std::int64_t predictions = 0, equal = 0;  // top-1 of the first output
  std::int64_t correct_simulated = 0, correct_deployed = 0;
  std::vector<OutputResult> outputs;
  bool layers = false;
  std::vector<TensorResult> tensors;
  CodeDifferences local, whole;              // all tensors
  CodeDifferences local_exact, local_float;  // those by integers alone, and the others
  double bound = 0.0, float_bound = 0.0, output_bound = 0.0;
  std::string first_diverging;  // "": none
  std::vector<std::string> failures;
  bool passed() const { return failures.empty(); }
};

// The file of a folder that verify() runs: its Q/DQ model. A file is itself.
std::string deployed_file(const std::string& file_or_folder);

// Throws where the file cannot be read, or the runner fails.
VerifyResult verify(const std::string& file, const Dataset& data, const VerifyOptions& options);

}  // namespace quench
