// What a user may ask of a platform: other defaults, and rules for single layers. A plain value; src/config/ reads it
// from YAML.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quench/options.h"
#include "quench/quant.h"

namespace quench {

// How the error that quantizing adds to the mean of each layer's output is removed (quench/ptq.h).
enum class BiasCorrection : std::uint8_t {
  kNone,
  kFast,        // each layer's own mean error, from one pass over float activations
  kSequential,  // layer by layer, each on the network whose earlier layers are corrected already
};
const char* name_of(BiasCorrection kind);  // "none", "fast", "sequential"
BiasCorrection bias_correction_from_name(const std::string& name);

// What is said about one kind of quantizer, by a platform, a user or a qconfig; what is absent stays as it was.
struct QuantSettings {
  std::optional<Format> format;
  std::optional<int> bits;
  std::optional<bool> is_signed, symmetric, narrow, power_of_two_scale;
  std::optional<Granularity> granularity;
  std::optional<int> axis;
  std::optional<std::int64_t> group;
  std::optional<std::string> observer, fake_quant;
  Options observer_options, fake_quant_options;  // of the observer or fake quantizer that is named with them, if any

  void set_scheme(const QScheme& scheme);  // all of it but the axis, which is the operator's to say
  bool empty() const;
};

// A rule for the layers that match both conditions. Later rules win.
struct LayerRule {
  std::string match;  // glob over node, module path or output; no wildcard: what is inside too; "=name": that node
  std::string op;     // operator, or several alternatives ("Gemm|MatMul"); "" any
  bool keep_float = false;   // neither its weight, nor its inputs or its output on its behalf
  QuantSettings weight;      // of its weight
  QuantSettings activation;  // of the tensors that it reads
  QuantSettings output;      // of the tensor that it writes
  std::string text() const;  // "match: layer1.*, op: Conv", for messages
};

struct QuantConfig {
  std::string platform = {};
  bool parity = false;          // the reference's counts and rules, no corrections
  bool float_fallback = false;  // what the target cannot run stays float, instead of being an error
  QuantSettings weight = {}, activation = {}, bias = {};
  std::vector<LayerRule> layers = {};

  // Beyond the platform's own list of operators whose inputs are quantized (MQBench's extra_quantizer_dict).
  std::vector<std::string> additional_ops = {};    // operators
  std::vector<std::string> additional_nodes = {};  // node names; beat exclusions
  std::vector<std::string> excluded_ops = {};
  std::vector<std::string> excluded_nodes = {};  // node or module names; a module's name covers what is inside

  std::vector<std::vector<std::string>> fuse = {};           // chains of node or module names that count as one layer
  std::vector<std::vector<std::string>> fuse_patterns = {};  // chains of operators, beside the platform's own

  Options platform_options = {};  // fuse_residual_add, academic_mode, float_output ...: what the platform declares
};

}  // namespace quench
