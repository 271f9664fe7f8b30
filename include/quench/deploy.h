// Deployment: a calibrated graph becomes the files that its target reads. An exporter makes them, one file each in
// src/deploy/; which one is the platform's `product`. Nothing is recomputed here: scales are written unchanged.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quench/data.h"
#include "quench/options.h"
#include "quench/quantized_model.h"
#include "quench/registry.h"

namespace quench {

struct DeployOptions {
  std::string platform = {};      // "": the plan's; another one must accept the plan
  std::string name = {};          // of the model, N in the names of the files
  std::int64_t opset = 0;         // of the models; 0: the lowest that works
  Options exporter = {};          // options of the exporter
  const Dataset* data = nullptr;  // what is exported is read back and compared with the graph on its first items;
                                  // null: on random ones
};

// What a file is for, once it is out of our hands.
enum class FileUse : std::uint8_t {
  kShip,       // the target takes it; where there are several such files, all of them
  kInstead,    // another form of the same, that the target takes as well
  kReference,  // for people and vendors' tools; no runtime takes it
};
const char* name_of(FileUse use);  // "ship", "instead", "reference"

// One file: a model, or the text of anything else.
struct DeployFile {
  std::string name;  // "N_qdq.onnx"
  std::string what;  // "QuantizeLinear and DequantizeLinear, opset 13": one line, for people
  Graph model;       // without nodes and values if it is a text
  std::int64_t opset = 13;
  std::string text;
  FileUse use = FileUse::kShip;
  bool is_model() const { return text.empty(); }
};

struct Deployment {
  std::string platform;
  std::vector<DeployFile> files;
  std::vector<std::string> notes;  // for the user: what the format could not hold, and what was done about it
};

// What an exporter works on.
struct DeployJob {
  // Ready: batch norms folded, stubs gone, every quantizer calibrated and on, inputs and outputs under the names that
  // they had in the float model.
  const Graph& graph;
  std::string platform;
  std::string name;
  std::int64_t opset = 0;  // as the user asked; 0: the exporter's choice
  bool parity = false;
  Options options;  // checked
};

// Type of a deployed model's inputs and outputs if the model came in float16 or bfloat16. It computes in float32.
enum class IoTypes : std::uint8_t {
  kModel,    // the model's own, with a Cast at the border
  kFloat32,  // the target's compiler takes nothing else
};

struct Exporter {
  static constexpr const char* kKind = "exporter";
  void (*write)(const DeployJob& job, Deployment& deployment) = nullptr;
  std::vector<OptionInfo> options = {};
  IoTypes io = IoTypes::kModel;
};
using ExporterRegistry = Registry<Exporter>;

// "" if a platform has files of its own; else why it has none.
std::string why_no_files(const std::string& platform);

// Throws if the model is not calibrated, holds something that no file can express, or the target cannot run it, naming
// the node; and if a file, read back, is not the model it was made from.
// Every deployment begins with N_quantizers.onnx: the graph with its quantizers under the names that vendors' tools
// read. At least one file is to be shipped.
Deployment deploy(const QuantizedModel& model, const DeployOptions& options);

// All files or none: they are written beside and moved into the folder (which is made) at the end, with a list of them.
// An existing file is an error that names it, unless `force`; then all files of the earlier deployment are removed,
// and other files stay.
void write_deployment(const Deployment& deployment, const std::string& folder, bool force = false);

}  // namespace quench

// QUENCH_REGISTER_EXPORTER("qdq", write_qdq, "QuantizeLinear and DequantizeLinear"[, options])
#define QUENCH_REGISTER_EXPORTER(name, write, summary, ...) \
  QUENCH_REGISTER_ITEM(::quench::Exporter, name, summary, {write __VA_OPT__(, ) __VA_ARGS__})
