// PlanBuilder: what a platform's `annotate` and `refine` talk to. It shows a graph as layers, takes requests for
// quantizers, and makes the plan of them.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "quench/graph.h"
#include "quench/plan.h"
#include "quench/quant_config.h"

namespace quench {

struct PlanState;

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
  // Graph and config must outlive it.
  PlanBuilder(const Graph& graph, const std::string& platform, const QuantConfig& config);
  ~PlanBuilder();

  const Graph& graph() const;
  const QuantConfig& config() const;
  bool parity() const;
  const Options& options() const;  // of the platform, checked

  const std::vector<Layer>& layers() const;  // in order of the graph
  const Layer& layer_of(const Node& node) const;
  const Layer* producer_of(const Value& value) const;                // null for inputs and constants
  std::vector<const Layer*> consumers_of(const Value& value) const;  // one entry per layer

  // A float tensor that depends on the data. Constants and what is computed from them, integers and single
  // elements are not activations.
  bool is_activation(const Value& value) const;
  bool is_constant(const Value& value) const;                          // a constant, or computed from constants alone
  std::vector<const Value*> activations_of(const Layer& layer) const;  // what it reads, each once
  // "part of a GELU" where a node belongs to a function that is spelled out in several; else "".
  std::string part_of(const Node& node) const;
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
  const QuantSettings& asked_of(const PlanEntry& entry) const;  // what those rules say; empty where there is none

  QuantPlan finish();  // resolves the user's rules, refines, validates, lists what stays float

 private:
  std::unique_ptr<PlanState> state_;
};

}  // namespace quench
