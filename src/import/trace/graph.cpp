#include "import/trace/graph.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "graph/tensor_types.h"
#include "import/aten/aten.h"
#include "import/aten/graph.h"
#include "import/trace/aliases.h"
#include "import/trace/arguments.h"
#include "import/trace/dims.h"
#include "import/trace/names.h"
#include "import/trace/scope.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();  // turns of a `while`

class GraphMaker {
 public:
  explicit GraphMaker(const ModuleRecord& record)
      : record_(record),
        first_(record.traces[0]),
        dims_(record.traces, record.inputs),
        arguments_(record, dims_),
        aliases_(first_) {}

  Graph make() {
    add_inputs();
    find_unpacked_lists();
    read_all(0, first_.nodes.size());
    for (const int output : first_.outputs) add_output(output);
    return std::move(scope_->graph);
  }

 private:
  void add_inputs() {
    for (std::size_t i = 0; i < record_.inputs.size(); ++i)
      scope_->set(first_.inputs[i], &graph().add_input(record_.input_names[i], record_.inputs[i]));
    for (std::size_t i = 0; i < record_.state.size(); ++i) {
      const StateTensor& state = record_.state[i];
      Value& value = graph().add_constant(graph().unique_name(state.name), *state.tensor.tensor);
      value.set_parameter(state.is_parameter);
      names_.own(value, layer_of_tensor(state.name));
      scope_->set(first_.inputs[record_.inputs.size() + i], &value);
    }
  }

  void find_unpacked_lists() {
    for (const TraceNode& node : first_.nodes)
      if (node.kind == "prim::ListUnpack") unpacked_[node.inputs.at(0)] = node.outputs;
  }

  Graph& graph() { return scope_->graph; }

  void read_all(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i = first_.nodes[i].end(i)) read(i);
  }

  void read(std::size_t at) {
    const TraceNode& node = first_.nodes[at];
    if (node.kind == "prim::If") {
      read_if(at);
    } else if (node.kind == "prim::Loop") {
      read_loop(at);
    } else if (node.kind == "prim::Constant") {
      arguments_.add_constant(node.outputs[0], at);
    } else if (node.kind == "prim::ListConstruct" || node.kind == "prim::TupleConstruct") {
      aliases_.check(at, node.kind, [](int) { return ""; });
      arguments_.add_list(node.outputs[0], node.inputs);
    } else if (node.kind == "prim::ListUnpack") {
      unpack(node);
    } else if (node.kind == "aten::size" && node.inputs.size() == 2) {
      read_size(at);
    } else if (node.kind == "prim::NumToTensor" || node.kind == "aten::Int" || node.kind == "aten::ScalarImplicit") {
      scope_->set(node.outputs[0], argument(node.inputs[0], at));
    } else {
      map(at);
    }
  }

  void unpack(const TraceNode& node) {
    if (const std::vector<int>* list = arguments_.elements_of(node.inputs[0])) {
      for (std::size_t i = 0; i < node.outputs.size(); ++i) scope_->set(node.outputs[i], scope_->known(list->at(i)));
      return;
    }
    const Values values = std::get<Values>(scope_->known(node.inputs[0]));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) scope_->set(node.outputs[i], values.at(i));
  }

  void read_size(std::size_t at) {
    const TraceNode& node = first_.nodes[at];
    const auto axis = std::get<AtenInt>(argument(node.inputs[1], at));
    auto* value = std::get<Value*>(argument(node.inputs[0], at));
    AtenInt size;
    size.source = value;
    size.axis = static_cast<int>(axis.number < 0 ? axis.number + value->rank() : axis.number);
    size.dim = value->dims().at(static_cast<std::size_t>(size.axis));
    scope_->set(node.outputs[0], size.dim.is_number() ? AtenInt(size.dim.number()) : size);
  }

  void map(std::size_t at) {
    const TraceNode& node = first_.nodes[at];
    const std::string kind = plain_kind(node.kind);
    const Values inputs = tensor_inputs(node);
    const AtenEntry* entry = AtenRegistry::instance().find(kind);
    LayerNames::Name name = names_.name_call(kind, inputs, entry && entry->is_layer);
    if (kind == "quench::leaf") name = leaf_name(node);
    AtenCall call(graph(), kind, name.name);
    aliases_.check(at, call.where(), [&](int value) { return state_name(value); });
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const std::string arg = i < node.arg_names.size() ? node.arg_names[i] : concat("#", i);
      call.args[arg] =
          with_context([&] { return concat("in ", call.where()); }, [&] { return argument(node.inputs[i], at); });
    }
    const std::vector<int> results = result_values(node);
    for (const int result : results) call.outputs.push_back(recorded_type(result));
    if (kind == "quench::leaf") call.args["parameters"] = leaf_parameters(name.name);
    take_results(node, results, call, name.layer, map_aten_call(call));
    if (!inputs.empty() && (kind == "t" || kind == "transpose" || kind == "permute"))
      names_.pass_owner(*inputs[0], *std::get<Value*>(scope_->known(results[0])));
  }

  // The graph of a body; what it captures are its last inputs.
  void read_body(TraceScope& body, const TraceBlock& block) {
    TraceScope* outer = std::exchange(scope_, &body);
    read_all(block.begin, block.end);
    for (const int output : block.outputs) add_output(output);
    scope_ = outer;
  }

  // A node with bodies, whose captures follow its own inputs.
  void add_control_flow(const TraceNode& node, const std::string& op, Values inputs, const Values& captured,
                        const Attrs& bodies) {
    if (node.outputs.empty()) return;  // it was looked at for what it writes to
    const LayerNames::Name name = names_.name_call(op == "If" ? "if" : "loop", tensor_inputs(node), false);
    inputs.insert(inputs.end(), captured.begin(), captured.end());
    Node& made = graph().add(op, graph().unique_name(name.name), inputs, static_cast<int>(node.outputs.size()));
    made.attrs = bodies;
    made.captures = static_cast<int>(captured.size());
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      Value& output = made.output(static_cast<int>(i));
      output.set_type(recorded_type(node.outputs[i]));
      names_.follow(output, name.layer);
      scope_->set(node.outputs[i], &output);
    }
  }

  void read_if(std::size_t at) {
    const TraceNode& node = first_.nodes[at];
    TraceScope yes(*scope_, names_), no(*scope_, names_);
    aliases_.enter_then();
    read_body(yes, node.blocks.at(0));
    for (Value* value : yes.captured()) no.capture(*value);  // both take the same, in the same order
    aliases_.enter_else();
    read_body(no, node.blocks.at(1));
    for (Value* value : no.captured()) yes.capture(*value);
    aliases_.leave_else();
    yes.graph.name = "then_branch";
    no.graph.name = "else_branch";
    add_control_flow(node, "If", {tensor_argument(node.inputs[0], at)}, no.captured(),
                     {{"then_branch", std::make_shared<Graph>(std::move(yes.graph))},
                      {"else_branch", std::make_shared<Graph>(std::move(no.graph))}});
  }

  void read_loop(std::size_t at) {
    const TraceNode& node = first_.nodes[at];
    const TraceBlock& block = node.blocks.at(0);
    Values inputs;
    for (const int input : node.inputs) inputs.push_back(tensor_argument(input, at));
    if (inputs[0]->is_constant() && inputs[0]->tensor().item<std::int64_t>() == kNoLimit) inputs[0] = nullptr;
    TraceScope body(*scope_, names_);
    body.graph.name = "body";
    for (std::size_t i = 0; i < block.inputs.size(); ++i) {
      const std::string name = i == 0 ? "turn" : concat("state_", i);
      body.set(block.inputs[i], &body.graph.add_input(name, recorded_type(block.inputs[i])));
      if (i == 0) body.graph.add_input("condition", TypeInfo::tensor(DType::kBool, Dims{}));
    }
    read_body(body, block);
    aliases_.leave_loop(block);
    add_control_flow(node, "Loop", inputs, body.captured(), {{"body", std::make_shared<Graph>(std::move(body.graph))}});
  }

  Value* tensor_argument(int number, std::size_t at) {
    aliases_.check_reads({number}, "a branch or loop");
    const AtenArg arg = argument(number, at);
    Value* const* value = std::get_if<Value*>(&arg);
    QUENCH_CHECK(value && *value, "a branch or loop takes something that is not a tensor of the graph");
    return *value;
  }

  void take_results(const TraceNode& node, const std::vector<int>& results, const AtenCall& call,
                    const std::string& layer, const Values& values) {
    QUENCH_CHECK(values.size() >= results.size(), call.where(), ": mapped to ", values.size(), " values, ",
                 results.size(), " are recorded");
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!values[i]) continue;
      scope_->set(results[i], values[i]);
      names_.follow(*values[i], layer);
      if (values[i]->producer()) refine_type(*values[i], call.outputs[i]);
    }
    const bool is_list = node.outputs.size() == 1 && unpacked_.contains(node.outputs[0]);
    if (is_list) scope_->set(node.outputs[0], values);
  }

  // What was recorded is true; the shape rule of the operator may know more of a dim.
  static void refine_type(Value& value, const TypeInfo& recorded) {
    TypeInfo type = recorded;
    const bool ranked = value.has_rank() && value.dims().size() == type.dims->size();
    for (std::size_t i = 0; ranked && i < type.dims->size(); ++i)
      if ((*type.dims)[i].is_unknown()) (*type.dims)[i] = value.dims()[i];
    value.set_type(type);
  }

  TypeInfo recorded_type(int value) const {
    const TraceValue& traced = first_.values[static_cast<std::size_t>(value)];
    return TypeInfo::tensor(traced.dtype, dims_.dims_of(value));
  }

  std::vector<int> result_values(const TraceNode& node) const {
    const auto list = node.outputs.size() == 1 ? unpacked_.find(node.outputs[0]) : unpacked_.end();
    return list == unpacked_.end() ? node.outputs : list->second;
  }

  // Tensors among the inputs, those in lists included, in order.
  Values tensor_inputs(const TraceNode& node) {
    Values result;
    const auto take = [&](int number) {
      if (Value* value = scope_->find_tensor(number)) result.push_back(value);
    };
    for (const int input : node.inputs) {
      take(input);
      if (const std::vector<int>* list = arguments_.elements_of(input)) std::for_each(list->begin(), list->end(), take);
    }
    return result;
  }

  AtenArg argument(int number, std::size_t at) { return arguments_.read(*scope_, number, at); }

  std::string state_name(int number) const {
    for (std::size_t i = 0; i < record_.state.size(); ++i)
      if (first_.inputs[record_.inputs.size() + i] == number) return record_.state[i].name;
    return "";
  }

  LayerNames::Name leaf_name(const TraceNode& node) const {
    const auto number = std::get<std::int64_t>(arguments_.constant(node.inputs[0]));
    const auto at = record_.leaves.find(number);
    const std::string name = at == record_.leaves.end() ? concat("leaf", number) : at->second;
    return {name, name};
  }

  Values leaf_parameters(const std::string& leaf) {
    Values result;
    for (const StateTensor& state : record_.state)
      if (state.is_parameter && state.name.starts_with(leaf + ".")) result.push_back(&graph().value(state.name));
    return result;
  }

  void add_output(int number) {
    aliases_.check_reads({number}, "a result");
    const AtenArg result = argument(number, first_.nodes.empty() ? 0 : first_.nodes.size() - 1);
    Value* const* value = std::get_if<Value*>(&result);
    QUENCH_CHECK(value && *value, "an output of the module is not a tensor that the graph makes");
    add_graph_output(graph(), **value);
  }

  const ModuleRecord& record_;
  const Trace& first_;
  DimExplainer dims_;
  TraceArguments arguments_;
  AliasCheck aliases_;
  LayerNames names_;
  TraceScope whole_{names_};
  TraceScope* scope_ = &whole_;               // of the body that is being read
  std::map<int, std::vector<int>> unpacked_;  // list value -> the values it is unpacked into
};

}  // namespace

Graph graph_of_traces(const ModuleRecord& record) { return GraphMaker(record).make(); }

}  // namespace quench
