// Platforms: what a target wants quantized, and how. A platform is a declaration with one function that annotates;
// it never touches the graph. One file each in src/platforms/.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quench/graph.h"
#include "quench/plan.h"
#include "quench/quant_config.h"
#include "quench/registry.h"

namespace quench {

class PlanBuilder;

struct ObserverChoice {
  std::string name;
  Options options = {};
};

struct QuantizerDefaults {
  QSchemeSpec scheme;
  std::string observer = "min_max";  // by the set of values, however it is cut into batches; else only as `reference`
  std::string fake_quant = "lsq";
  Options observer_options, fake_quant_options;
  std::optional<ObserverChoice> reference;  // in place of `observer` under parity
};

using OpChain = std::vector<std::string>;

struct Platform {
  static constexpr const char* kKind = "platform";
  std::vector<std::string> aliases;  // besides its name; compared ignoring case
  QuantizerDefaults weight, activation;
  std::optional<QuantizerDefaults> bias;  // a bias that is quantized as a tensor of its own (Vitis)
  bool user_schemes = false;              // has no defaults: bits, observer and fake quantizer must be given (academic)
  bool fixed_schemes = false;             // only the observers may be changed (NNIE)
  bool has_parity = true;                 // re-creates a reference implementation, and takes `parity`
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
};
using PlatformRegistry = Registry<Platform>;

// Conv, ConvTranspose, Gemm and MatMul followed by BatchNormalization and Relu; BatchNormalization with Relu.
const std::vector<OpChain>& standard_groups();
const std::vector<std::string>& standard_weighted();  // Conv, ConvTranspose, Gemm, MatMul
std::vector<OpChain> groups_of(const Platform& platform, const QuantConfig& config);  // none if they are off

// By name or alias, in any case; throws with the known names.
const Platform& find_platform(const std::string& name);
std::string platform_name(const std::string& name_or_alias);  // the registered name

// One layer as a platform sees it: a lone node, or a group (Conv, its BatchNormalization, its Relu).
struct Layer {
  std::vector<Node*> nodes;  // in order; inner values have no other use
  Node& head() const { return *nodes.front(); }
  Node& last() const { return *nodes.back(); }
  Value& output() const { return last().output(); }
  const std::string& op() const { return head().op(); }
};

// What `annotate` talks to. Requests on behalf of layers that the user excluded are ignored (and noted as the reason).
class PlanBuilder {
 public:
  PlanBuilder(const Graph& graph, const std::string& platform, const QuantConfig& config);

  const Graph& graph() const { return graph_; }
  const QuantConfig& config() const { return config_; }
  bool parity() const { return config_.parity; }
  const Options& options() const { return options_; }  // of the platform, checked

  const std::vector<Layer>& layers() const { return layers_; }  // in order of the graph
  const Layer& layer_of(const Node& node) const;
  const Layer* producer_of(const Value& value) const;                // null for inputs and constants
  std::vector<const Layer*> consumers_of(const Value& value) const;  // one entry per layer

  // A float tensor that depends on the data. Constants, values computed from them, integers and single
  // elements are not activations.
  bool is_activation(const Value& value) const;
  bool is_constant(const Value& value) const;                          // a constant, or computed from constants alone
  std::vector<const Value*> activations_of(const Layer& layer) const;  // what it reads, each once
  bool has_weight(const Layer& layer) const;   // a constant weight, of an operator that is `weighted`
  bool is_excluded(const Layer& layer) const;  // by the user: by name or rule, or outside of the stubs
  bool is_forced(const Layer& layer) const;    // additional_nodes
  // Whether the operator is in the list or was added by the user; Add, Mul, Div and MatMul only with two activations.
  // A MatMul with a constant weight is a linear layer: it counts as a Gemm too.
  bool is_listed(const Layer& layer, const std::set<std::string>& ops) const;

  void quantize_weights();  // of every layer with has_weight()
  void quantize_weight(const Layer& layer, const std::string& rule);
  void quantize_input(const Layer& layer, const Value& value, const std::string& rule);
  void quantize_output(const Layer& layer, const Value& value, const std::string& rule);
  void share(const Value& value, const Value& with, const std::string& rule);  // `with` becomes the leader
  void leave_float(const Value& value, const std::string& reason);

  // For `refine`. Null when nothing asked for it.
  PlanEntry* find(const Value& value);
  std::vector<PlanEntry*> entries();
  const Layer* owner_of(
      const PlanEntry& entry) const;  // of a weight or bias: its layer; of others the first that asked

  bool has_user_rule(const PlanEntry& entry) const;             // a rule for its layer changed it
  const QuantSettings& asked_of(const PlanEntry& entry) const;  // what those rules say; empty if there is none

  QuantPlan finish();  // resolves the user's rules, refines, validates, lists what stays float

 private:
  struct Request {
    PlanEntry entry;
    const Value* value = nullptr;
    const Layer* layer = nullptr;  // the first that asked
    bool ruled = false;            // a rule of the user's changed it
    QuantSettings asked = {};      // what such rules said, later ones over earlier ones
  };
  Request& request(const Layer& layer, const Value& value, Role role, const std::string& rule);
  std::string why_excluded(const Layer& layer) const;
  void add_biases();
  void resolve_shares();
  void resolve_settings();
  using UsedParts = std::vector<std::set<const QuantSettings*>>;  // of each rule, what changed something
  void resolve_entry(Request& request, UsedParts& used);
  void check_rules_used(const UsedParts& used) const;
  void check_shared_weights() const;
  void follow_leaders();
  void validate();
  std::vector<PlanSkip> skipped() const;

  const Graph& graph_;
  std::string platform_name_;
  const Platform& platform_;
  const QuantConfig& config_;
  Options options_;
  std::vector<Layer> layers_;
  std::map<const Node*, std::size_t> layer_index_;
  std::set<const Value*> constants_;
  std::set<const Node*> outside_;  // of what lies between QuantStub and DeQuantStub
  std::map<const Value*, Request> requests_;
  std::vector<std::pair<const Node*, PlanEntry>> derived_;  // biases in int32, by layer
  std::map<const Value*, std::string> reasons_;             // why a value stays float
};

// Which values can never be below zero: by what the operators promise, followed through the graph.
std::set<const Value*> non_negative_values(const Graph& graph);

// The plan for a graph that fusion has seen. Throws for a rule that matches nothing, for an unknown platform or
// option, and for what the target cannot run, naming the layer.
QuantPlan make_plan(const Graph& graph, const QuantConfig& config);

// A plan that came from elsewhere: whether its values are float tensors of the graph, its observers and quantizers
// exist, and the platform can run it. Throws, naming the entry.
void check_plan(const Graph& graph, const QuantPlan& plan);

}  // namespace quench

// QUENCH_REGISTER_PLATFORM("tensorrt", tensorrt, "TensorRT with a file of ranges"): `tensorrt()` makes it
#define QUENCH_REGISTER_PLATFORM(name, make, summary) QUENCH_REGISTER_ITEM(::quench::Platform, name, summary, (make()))
