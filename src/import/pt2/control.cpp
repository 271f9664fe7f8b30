#include "import/pt2/control.h"

#include "import/aten/graph.h"
#include "import/pt2/calls.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

using Kind = Pt2Item::Kind;

constexpr const char *kCond = "torch.ops.higher_order.cond", *kWhile = "torch.ops.higher_order.while_loop";

const Pt2Arg& argument_of(const Pt2Node& node, std::size_t index) {
  QUENCH_CHECK(index < node.inputs.size(), "has ", node.inputs.size(), " arguments");
  return node.inputs[index].second;
}

const Pt2Program& body_argument(const Pt2Node& node, std::size_t index) {
  const Pt2Arg& arg = argument_of(node, index);
  QUENCH_CHECK(arg.items.size() == 1 && arg.items[0].graph, "argument ", index, " is not a graph");
  return *arg.items[0].graph;
}

// Tensors as they are, numbers as tensors of one element.
Values operands_of(const Pt2Node& node, std::size_t index, Pt2Calls& calls) {
  Values operands;
  for (const Pt2Item& item : argument_of(node, index).items) {
    if (item.kind == Kind::kTensor) {
      operands.push_back(&calls.values.tensor(item.text));
      continue;
    }
    AtenCall call = calls.call_of(node, "operand");
    call.args["operand"] = calls.values.argument({false, {item}});
    operands.push_back(&call.operand("operand", DType::kInt64));
  }
  return operands;
}

// Puts the program's calls on these values into `calls`; returns its results.
Values run_on(const Pt2Program& body, const Values& inputs, Pt2Calls& calls) {
  QUENCH_CHECK(body.inputs.size() == inputs.size(), "a nested graph takes ", body.inputs.size(),
               " values and is given ", inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Pt2Item& item = body.inputs[i].arg;
    if (item.kind == Kind::kTensor) {
      calls.values.bind(item.text, *inputs[i]);
    } else if (item.kind == Kind::kSymbol) {
      AtenInt number;
      number.source = inputs[i];
      number.axis = -1;
      number.dim = calls.values.dim_of(item.text);
      calls.values.bind(item.text, number);
    }
  }
  calls.read();
  Values results;
  for (const Pt2Item& item : body.outputs) {
    QUENCH_CHECK(item.kind == Kind::kTensor,
                 "a nested graph returns something other than tensors, which is not supported");
    calls.aliases.check_read(item.text, concat("the result '", item.text, "' of a nested graph"));
    results.push_back(&calls.values.tensor(item.text));
  }
  return results;
}

// Fresh inputs of `graph` for a body's inputs, named and typed as the body has them.
Values add_body_inputs(Graph& graph, const Pt2Program& body, const Pt2Values& values) {
  Values inputs;
  for (const Pt2Input& input : body.inputs) {
    const bool is_tensor = input.arg.kind == Kind::kTensor;
    const TypeInfo type = is_tensor ? values.type_of(input.arg.text) : TypeInfo::tensor(DType::kInt64, Dims{});
    inputs.push_back(&graph.add_input(graph.unique_name(input.arg.text.empty() ? "number" : input.arg.text), type));
  }
  return inputs;
}

// A weight that is handed into a body still names the layer that it is the weight of.
void pass_owners(const Pt2Calls& outer, const Values& from, Pt2Calls& inner, const Values& to) {
  for (std::size_t i = 0; i < from.size(); ++i)
    if (const std::string owner = outer.owners.owner_of({from[i]}); !owner.empty()) inner.owners.own(*to[i], owner);
}

GraphPtr branch(const Pt2Program& body, const Values& operands, const Pt2Calls& outer) {
  auto graph = std::make_shared<Graph>();
  Pt2Calls calls(body, *graph);
  QUENCH_CHECK(body.inputs.size() == operands.size(), "a branch takes ", body.inputs.size(), " values and is given ",
               operands.size());
  const Values inputs = add_body_inputs(*graph, body, calls.values);
  pass_owners(outer, operands, calls, inputs);
  for (Value* result : run_on(body, inputs, calls)) add_graph_output(*graph, *result);
  remove_unused(*graph);
  return graph;
}

Value& predicate(const Pt2Node& node, Pt2Calls& outer) {
  const Pt2Arg& arg = argument_of(node, 0);
  QUENCH_CHECK(!arg.is_list && arg.items.size() == 1, "argument 0 is not a condition");
  const Pt2Item& item = arg.items[0];
  if (item.kind == Kind::kTensor) return outer.values.tensor(item.text);
  QUENCH_CHECK(item.kind == Kind::kSymbol, "argument 0 is not a condition");
  return outer.condition(item.text, node);
}

std::size_t result_count(const Pt2Node& node) {
  std::size_t count = 0;
  for (const Pt2Arg& output : node.outputs) count += output.items.size();
  return count;
}

Node& add_node(const Pt2Node& node, const std::string& op, const Values& inputs, std::map<std::string, Attr> bodies,
               Pt2Calls& outer) {
  Node& made =
      outer.graph().add(op, outer.graph().unique_name(node.name), inputs, static_cast<int>(result_count(node)));
  made.attrs = std::move(bodies);
  return made;
}

// (condition, graph, graph, operands)
void read_cond(const Pt2Node& node, Pt2Calls& outer) {
  Value& condition = predicate(node, outer);
  const Values operands = operands_of(node, 3, outer);
  Values inputs{&condition};
  inputs.insert(inputs.end(), operands.begin(), operands.end());
  Node& made = add_node(node, "If", inputs,
                        {{"then_branch", branch(body_argument(node, 1), operands, outer)},
                         {"else_branch", branch(body_argument(node, 2), operands, outer)}},
                        outer);
  made.captures = static_cast<int>(operands.size());
  entry_of(made).shapes(made);
  outer.take_results(node, {made.outputs().begin(), made.outputs().end()});
}

Value& one_result(const Values& results) {
  QUENCH_CHECK(results.size() == 1, "the condition of a loop gives ", results.size(), " values");
  return *results[0];
}

// turn, condition, states, captures -> whether to go on, the new states
GraphPtr loop_body(const Pt2Program& goes_on, const Pt2Program& body, const Values& operands, std::size_t states,
                   const Pt2Calls& outer) {
  auto graph = std::make_shared<Graph>();
  graph->add_input("turn", TypeInfo::tensor(DType::kInt64, Dims{}));
  graph->add_input("goes_on", TypeInfo::tensor(DType::kBool, Dims{}));
  Pt2Calls calls(body, *graph), question(goes_on, *graph);
  QUENCH_CHECK(body.inputs.size() == operands.size(), "a loop's body takes ", body.inputs.size(),
               " values and is given ", operands.size());
  Values inputs = add_body_inputs(*graph, body, calls.values);
  pass_owners(outer, operands, calls, inputs);
  const Values results = run_on(body, inputs, calls);
  QUENCH_CHECK(results.size() == states, "a loop of ", states, " states has a body that gives ", results.size());
  std::copy(results.begin(), results.end(), inputs.begin());
  add_graph_output(*graph, one_result(run_on(goes_on, inputs, question)));
  for (Value* result : results) add_graph_output(*graph, *result);
  remove_unused(*graph);
  return graph;
}

// (graph of the condition, graph of a turn, states, further operands)
void read_while(const Pt2Node& node, Pt2Calls& outer) {
  const Pt2Program &goes_on = body_argument(node, 0), &body = body_argument(node, 1);
  const Values states = operands_of(node, 2, outer), captured = operands_of(node, 3, outer);
  Values operands = states;
  operands.insert(operands.end(), captured.begin(), captured.end());
  Pt2Calls first(goes_on, outer.graph());  // the condition before the first turn is computed outside
  Values inputs{nullptr, &one_result(run_on(goes_on, operands, first))};
  inputs.insert(inputs.end(), operands.begin(), operands.end());
  Node& made =
      add_node(node, "Loop", inputs, {{"body", loop_body(goes_on, body, operands, states.size(), outer)}}, outer);
  made.captures = static_cast<int>(captured.size());
  QUENCH_CHECK(made.outputs().size() == states.size(), "gives ", made.outputs().size(), " results for ", states.size(),
               " states");
  entry_of(made).shapes(made);
  outer.take_results(node, {made.outputs().begin(), made.outputs().end()});
}

}  // namespace

bool is_control_target(const std::string& target) { return target == kCond || target == kWhile; }

void read_control(const Pt2Node& node, Pt2Calls& outer) {
  outer.aliases.check_reads(node);
  return node.target == kCond ? read_cond(node, outer) : read_while(node, outer);
}

}  // namespace quench
