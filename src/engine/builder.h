// Builds a program node by node. A file of steps/ or integer/ registers how its operators become steps; what none takes
// becomes a step that calls the executor.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/program.h"
#include "quench/engine.h"
#include "quench/graph.h"
#include "quench/registry.h"

namespace at {
class Tensor;
}

namespace quench {

// Constants in the layouts that kernels want: shared by all programs of an engine.
class PackedWeights {
 public:
  // The tensor that `make` gives, in this layout; made once per key and layout.
  dnnl::memory get(const std::string& key, const DnnlLayout& layout, const std::function<at::Tensor()>& make);
  std::int64_t bytes() const;

 private:
  std::multimap<std::string, dnnl::memory> kept_;
};

class Builder {
 public:
  // A graph whose types are all inferred for the shapes that will run.
  Builder(const Graph& graph, PackedWeights& weights, const std::vector<Watch>& watches = {});
  TaskList build();

  // The slot of a value that some step has computed, in whatever layout it has; -1 if it has no such type or shape.
  int input(const Value& value);
  int input_as(int slot, const DnnlLayout& layout);  // the same slot, or a reordered copy (made once)
  int plain(int slot) { return input_as(slot, plain_layout(layout(slot).get_dims(), layout(slot).get_data_type())); }
  int own_memory(int slot);  // the same slot, or a copy of one in the caller's memory: in the arena more may be read
  const DnnlLayout& layout(int slot) const { return program_.slots[static_cast<std::size_t>(slot)].layout; }

  int add_slot(const DnnlLayout& layout);
  int add_alias(int slot, const DnnlLayout& layout, std::int64_t shift = 0);
  void define(const Value& value, int slot);
  // `reads` and `writes` keep the slots alive; a scratchpad is both.
  void add_step(std::unique_ptr<Task> step, const Node& node, const std::string& kernel, const std::vector<int>& reads,
                const std::vector<int>& writes);
  void add_step(std::unique_ptr<Task> step, StepName name, const std::vector<int>& reads,
                const std::vector<int>& writes);

  // The one node that reads the value, if nothing else does and it is not an output.
  const Node* only_reader(const Value& value) const;
  bool is_defined(const Value& value) const;
  void absorb(const Node& node) { absorbed_.insert(&node); }  // it is part of another step
  PackedWeights& weights() { return weights_; }
  // Whether float operators may use kernels of their own: in integer graphs they stay with the executor, whose
  // results the codes around them were found with.
  bool float_kernels() const { return float_kernels_; }

 private:
  void add_inputs();
  void add_node(const Node& node);
  void add_steps(const Node& node);
  void show_new_values();
  void add_island(const Node& node);
  void add_outputs();
  void add_constant(const Value& value);
  int import_value(const Value& value, int from);
  int add_copy(int slot, const DnnlLayout& wanted);
  int memory_of(int slot) const;  // the slot that it is a view of
  void add_watch(const Value& value, const Watch& watch);

  const Graph& graph_;
  PackedWeights& weights_;
  std::map<std::string, const Watch*> watches_;  // by value; those to come
  bool watching_ = false;
  TaskList program_;
  const Node* current_ = nullptr;  // whose steps are being added
  bool float_kernels_ = true;
  std::map<const Value*, Place> places_;
  std::map<int, std::vector<int>> copies_;  // reordered, by slot
  std::set<const Node*> absorbed_;
};

// A step that calls one primitive of oneDNN.
class PrimitiveStep : public Task {
 public:
  PrimitiveStep(dnnl::primitive primitive, std::vector<std::pair<int, int>> slots,
                std::vector<std::pair<int, dnnl::memory>> constants, const Builder& builder);
  void bind(Frame& frame) const override;
  void run(Frame& frame) const override;

 private:
  dnnl::primitive primitive_;
  std::vector<std::pair<int, int>> slots_;  // argument, slot
  std::vector<std::pair<int, dnnl::memory>> constants_;
  std::vector<DnnlLayout> layouts_;  // of the slots
};

// A primitive with its arguments; appends the scratchpad that its description asks for.
struct PrimitiveCall {
  std::vector<std::pair<int, int>> reads;
  int output = -1;
  std::vector<std::pair<int, dnnl::memory>> constants;
};
void add_primitive(Builder& builder, const Node& node, const dnnl::primitive_desc_base& description,
                   const dnnl::primitive& primitive, PrimitiveCall call);

dnnl::primitive_attr attributes_with(const dnnl::post_ops& post_ops = {});  // scratch memory in the arena

// Whether the node became steps; false: the executor runs it.
using BuildSteps = bool (*)(Builder& builder, const Node& node);
struct EngineOp {
  static constexpr const char* kKind = "engine operator";
  BuildSteps build = nullptr;
};
using EngineOpRegistry = Registry<EngineOp>;

}  // namespace quench

#define QUENCH_REGISTER_ENGINE_OP(name, build) QUENCH_REGISTER_ITEM(::quench::EngineOp, name, "", {build})
