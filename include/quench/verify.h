// Verification: runs a deployed file in the real runtime and in simulation on the same data, and compares them; tensor
// by tensor if asked. docs/runners.md says what is compared and judged.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quench/compare.h"
#include "quench/compare_models.h"
#include "quench/data.h"
#include "quench/executor.h"
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
  bool fuses_add = false;      // a Conv absorbs the Add after it, and what is between them is not rounded
  OutputBounds outputs = {};
  bool reads_fake_quantize = false;  // OpenVINO's operator

  // A runtime inside this process, or one with files of its own format; such a one needs no script.
  // All outputs of the file's model, by name. Items lie along the first axis of the inputs, any number of them.
  NamedValues (*run)(const std::string& file, const NamedValues& inputs) = nullptr;
  // The file with what lies beside it as a graph with quantizers: the simulation that it is compared with, and that is
  // compared with the calibrated model. Null: a Q/DQ file, which quench reads.
  Graph (*read)(const std::string& file) = nullptr;
  std::string ending = "_qdq.onnx";  // of the files that it takes from a folder
};
using RuntimeRegistry = Registry<RuntimeEntry>;

// Bounds that are not given are the runtime's.
struct VerifyOptions {
  std::string runtime = "onnxruntime";
  std::string runner;           // a command to use instead of the runtime's script
  std::string rule;             // "": the runtime's
  std::string model;            // the calibrated model that the file was made from; "": the one beside it; "none": no
                                // comparison with it
  std::optional<double> bound;  // of local differences, a share of the codes
  std::optional<double> output_mean, output_bound, output_share, output_largest, accuracy_bound;  // as in OutputBounds
  bool layers = false;
  std::int64_t batch = 0;  // items per call of the runner; 0: as many as keep the files small
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

// One thing that was judged.
struct Criterion {
  std::string name;     // "largest_difference"
  std::string subject;  // "'logits'", "node 'conv1' (Conv)"
  std::string text;     // what was found, against which bound, for people
  double measured = 0.0, bound = 0.0;
  std::string bound_of;  // whose bound it is: "onnxruntime", or the option that gave it ("VerifyOptions::bound")
  bool passed = true;
};

struct VerifyResult {
  std::string file, runtime, rule;
  std::int64_t items = 0;
  bool labelled = false;
  std::int64_t predictions = 0, equal = 0;  // top-1 of the first output
  std::int64_t correct_simulated = 0, correct_deployed = 0;
  std::int64_t only_simulated = 0, only_deployed = 0;  // right in one of the two alone
  std::vector<OutputResult> outputs;
  std::string model;                               // the calibrated model that the file was compared with; "": none
  std::int64_t quantizers = 0;                     // of it
  std::vector<std::string> quantizer_differences;  // what differs in the file, one sentence each
  std::vector<OutputResult> model_outputs;         // the runtime's less the calibrated model's
  bool layers = false;
  std::vector<TensorResult> tensors;
  CodeDifferences local, whole;              // all tensors
  CodeDifferences local_exact, local_float;  // those by integers alone, and the others
  double bound = 0.0, float_bound = 0.0;
  OutputBounds output_bounds;
  std::string first_diverging;  // "": none
  std::vector<Criterion> criteria;
  std::vector<std::string> failures() const;  // the texts of those that were not passed
  bool passed() const { return failures().empty(); }
};

// The files of a folder that verify() can run in that runtime: the Q/DQ model, and OpenVINO's FakeQuantize. Of a folder
// of ours only what its list names. A file is itself.
std::vector<std::string> deployed_files(const std::string& file_or_folder, const std::string& runtime);

// compare_models with a deployed Q/DQ file in a runtime as B: its outputs, and every tensor of codes. Of the options
// only those count that say how it is run.
ModelComparison compare_with_runtime(const Graph& a, const std::string& file, const Dataset& data,
                                     const VerifyOptions& runtime, const CompareOptions& options = {});

// Throws if the file cannot be read, or the runner fails.
VerifyResult verify(const std::string& file, const Dataset& data, const VerifyOptions& options);

}  // namespace quench
