// Platforms: what a target wants quantized, and how. A platform is a declaration with one function that annotates
// (quench/plan_builder.h); it never touches the graph. One file each in src/platforms/targets/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quench/graph.h"
#include "quench/plan.h"
#include "quench/quant_config.h"
#include "quench/registry.h"

namespace quench {

class PlanBuilder;

QuantSettings usual_settings();  // int8 symmetric per tensor, min_max, lsq

using OpChain = std::vector<std::string>;

struct Platform {
  static constexpr const char* kKind = "platform";
  std::vector<std::string> aliases;  // besides its name; compared ignoring case
  // Complete but for the axis. Observers go by the set of values, however it is cut into batches; what a reference
  // averages over batches belongs in `reference`.
  QuantSettings weight = usual_settings(), activation = usual_settings();
  std::optional<QuantSettings> bias;  // a bias that is quantized as a tensor of its own (Vitis)
  QuantSettings reference;            // over `activation`, under parity
  bool user_schemes = false;          // has no defaults: bits, observer and fake quantizer must be given (academic)
  bool fixed_schemes = false;         // only the observers may be changed (NNIE)
  bool has_parity = true;             // re-creates a reference implementation, and takes `parity`
  QuantizeBy by = QuantizeBy::kReciprocal;
  bool int32_bias = false;           // the target computes with the bias in int32 at s_x * s_w, and so do we
  std::string requantize = "float";  // the target's integer arithmetic: docs/numerics.md 11
  BiasCorrection bias_correction = BiasCorrection::kNone;  // if the user does not say; off under parity
  bool equalize = false;                                   // the same
  bool smooth = false;                                     // the same
  bool whole_outputs = false;         // what leads straight to an output is observed by min_max; not under parity
  std::string product;                // what deployment writes: docs/platforms.md 5
  std::vector<OpChain> groups;        // chains of operators that count as one layer; see standard_groups()
  std::string unfused_option;         // the option of its own that switches the groups off
  std::vector<std::string> weighted;  // operators whose constant weight is quantized
  std::vector<OptionInfo> options;    // of the platform itself
  void (*annotate)(PlanBuilder& plan) = nullptr;  // asks for quantizers
  void (*refine)(PlanBuilder& plan) = nullptr;    // changes schemes once the user's rules are applied; what it takes
                                                  // from a rule is an error that names the layer
  // "" if the target can run the entry, else what it cannot do ("per-channel activations").
  std::string (*refuses)(const PlanEntry& entry, const Node* layer) = nullptr;
  // "" if the target computes on these codes, else why it only stores them and computes in float. Null: always codes.
  std::string (*float_kernels)(const PlanEntry& entry) = nullptr;
};
using PlatformRegistry = Registry<Platform>;

// Conv, ConvTranspose, Gemm and MatMul followed by BatchNormalization and Relu; BatchNormalization with Relu.
const std::vector<OpChain>& standard_groups();
const std::vector<std::string>& standard_weighted();  // Conv, ConvTranspose, Gemm, MatMul
std::vector<OpChain> groups_of(const Platform& platform, const QuantConfig& config);  // none if they are off

// By name or alias, in any case; throws with the known names.
const Platform& find_platform(const std::string& name);
std::string platform_name(const std::string& name_or_alias);  // the registered name

// The plan for a graph that fusion has seen. Throws for a rule that matches nothing, for an unknown platform or
// option, and for what the target cannot run, naming the layer.
QuantPlan make_plan(const Graph& graph, const QuantConfig& config);

// A plan that came from elsewhere: whether its values are float tensors of the graph, its observers and quantizers
// exist, and the platform can run it. Throws, naming the entry.
void check_plan(const Graph& graph, const QuantPlan& plan);

// Lists as float what make_plan() quantizes and this plan, which a user has edited, does not; what the user has added
// is no longer listed.
void list_removed_entries(const Graph& graph, const QuantConfig& config, QuantPlan& plan);

// What the plan quantizes without a gain in speed, one sentence per reason (Platform::float_kernels).
std::vector<std::string> float_kernel_notes(const QuantPlan& plan);

}  // namespace quench

// QUENCH_REGISTER_PLATFORM("tensorrt", tensorrt, "TensorRT with a file of ranges"): `tensorrt()` makes it
#define QUENCH_REGISTER_PLATFORM(name, make, summary) QUENCH_REGISTER_ITEM(::quench::Platform, name, summary, (make()))
