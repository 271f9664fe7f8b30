// If and Loop. Bodies run in executors of their own; what they capture are their last inputs.
#include <ATen/ATen.h>

#include <limits>

#include "graph/tensor_types.h"
#include "ops/body_types.h"
#include "ops/reads_on_host.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

bool truth_of(const RtValue& value) {
  const std::vector<std::int64_t> numbers = integers_of(value.tensor());
  QUENCH_CHECK(numbers.size() == 1, "a condition must be one element, not ", numbers.size());
  return numbers[0] != 0;
}

std::vector<RtValue> if_else(const Node& node, const Inputs& in, ExecContext& context) {
  const Graph& branch = node.require_graph(truth_of(in[0]) ? "then_branch" : "else_branch");
  return context.run_body(branch, Inputs(in.begin() + 1, in.end()));
}

std::optional<Dims> known_elements(const Value& value) {
  constexpr std::int64_t kMost = 1024;  // as number_rules has it
  if (!value.is_constant() || !is_integer(value.dtype()) || value.rank() > 1) return value.contents;
  if (value.tensor().numel() > kMost) return std::nullopt;
  const std::vector<std::int64_t> numbers = integers_of(value.tensor());
  return Dims(numbers.begin(), numbers.end());
}

// Where the condition is known, so is the branch.
void if_shape(Node& node) {
  Graph &then_branch = body_of(node, "then_branch"), &else_branch = body_of(node, "else_branch");
  for (Graph* body : {&then_branch, &else_branch}) {
    set_capture_types(node, *body);
    infer_shapes(*body);
    QUENCH_CHECK(body->outputs().size() >= node.outputs().size(), node.where(), " has ", node.outputs().size(),
                 " outputs, a branch only ", body->outputs().size());
  }
  const auto condition = input_integer(node, 0);
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    Value *output = node.outputs()[i], *a = then_branch.outputs()[i], *b = else_branch.outputs()[i];
    if (!output) continue;
    output->set_type(!condition ? general_type(a->type(), b->type()) : *condition != 0 ? a->type() : b->type());
    output->contents = !condition ? std::nullopt : known_elements(*condition != 0 ? *a : *b);
  }
}

// A number or a truth value in the rank that a body declares for it: [] or [1].
RtValue scalar_for(const Value& declared, const at::Tensor& scalar) {
  const bool is_vector = declared.has_rank() && declared.rank() == 1;
  return is_vector ? scalar.reshape({1}) : scalar.reshape({});
}

// Inputs: trip count, condition, states, captures. Body: turn, condition, states, captures ->
// condition, states, results of this turn.
std::size_t state_count(const Node& node) {
  const auto own = static_cast<std::int64_t>(node.inputs().size()) - node.captures - 2;
  QUENCH_CHECK(own >= 0, node.where(), " lacks its trip count and condition inputs");
  return static_cast<std::size_t>(own);
}

RtValue stacked(const std::vector<RtValue>& turns, const TypeInfo& type, const c10::Device& device) {
  if (!turns.empty()) {
    std::vector<at::Tensor> tensors;
    for (const RtValue& turn : turns) tensors.push_back(turn.tensor());
    return {at::stack(tensors), turns[0].dtype()};
  }
  std::vector<std::int64_t> sizes = {0};
  for (const Dim& dim : type.dims.value_or(Dims())) sizes.push_back(dim.is_number() ? dim.number() : 0);
  const DType dtype = type.dtype == DType::kUndefined ? DType::kFloat : type.dtype;
  return {at::empty(sizes, at::TensorOptions(scalar_type_of(dtype)).device(device)), dtype};
}

std::vector<RtValue> loop(const Node& node, const Inputs& in, ExecContext& context) {
  const Graph& body = node.require_graph("body");
  const std::size_t states = state_count(node);
  QUENCH_CHECK(body.outputs().size() > states, "the body has ", body.outputs().size(), " outputs, expected at least ",
               states + 1);
  QUENCH_CHECK(body.inputs().size() == in.size(), "the body has ", body.inputs().size(), " inputs, the node ",
               in.size());
  const std::size_t results = body.outputs().size() - 1 - states;
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  if (!in[0].is_none()) {
    const std::vector<std::int64_t> given = integers_of(in[0].tensor());
    QUENCH_CHECK(given.size() == 1, "the trip count must be one number, not ", given.size());
    limit = given[0];
  }
  bool goes_on = in[1].is_none() || truth_of(in[1]);
  Inputs arguments = in;
  std::vector<std::vector<RtValue>> turns(results);
  for (std::int64_t turn = 0; turn < limit && goes_on; ++turn) {
    arguments[0] = scalar_for(*body.inputs()[0], at::scalar_tensor(turn, at::kLong));
    arguments[1] = scalar_for(*body.inputs()[1], at::scalar_tensor(true, at::kBool));
    const std::vector<RtValue> made = context.run_body(body, arguments);
    goes_on = truth_of(made[0]);
    for (std::size_t i = 0; i < states; ++i) arguments[2 + i] = made[1 + i];
    for (std::size_t i = 0; i < results; ++i) turns[i].push_back(made[1 + states + i]);
  }
  std::vector<RtValue> outputs(arguments.begin() + 2, arguments.begin() + 2 + static_cast<std::ptrdiff_t>(states));
  for (std::size_t i = 0; i < results; ++i)
    outputs.push_back(stacked(turns[i], body.outputs()[1 + states + i]->type(), context.device()));
  return outputs;
}

// Sequences that stayed empty get the type that they began with; whether there were any.
bool fill_empty(const Node& node, std::vector<TypeInfo>& types) {
  bool found = false;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i].kind != TypeInfo::Kind::kSequence || types[i].element) continue;
    types[i] = node.input(static_cast<int>(2 + i))->type();
    found = found || types[i].element;
  }
  return found;
}

// The type of a state must hold before the first turn and after each: widened until it does.
void settle_states(Node& node, Graph& body, std::size_t states) {
  constexpr int kRounds = 4;
  std::vector<TypeInfo> types;
  for (std::size_t i = 0; i < states; ++i) {
    const Value* initial = node.input(static_cast<int>(2 + i));
    types.push_back(initial ? initial->type() : body.inputs()[2 + i]->type());
    if (initial && is_empty_sequence(*initial)) types.back().element = nullptr;
  }
  for (int round = 0; round <= kRounds; ++round) {
    for (std::size_t i = 0; i < states; ++i) body.inputs()[2 + i]->set_type(types[i]);
    infer_shapes(body);
    bool settled = true;
    for (std::size_t i = 0; i < states; ++i) {
      TypeInfo next = general_type(types[i], body.outputs()[1 + i]->type());
      if (next == types[i]) continue;
      types[i] = next;
      settled = false;
    }
    if (settled && !fill_empty(node, types)) return;
    // States may hand their types on from one to the next, one per turn: after a few rounds none keeps its dims.
    if (round + 1 >= kRounds)
      for (TypeInfo& type : types) type.dims.reset();
  }
}

void loop_shape(Node& node) {
  Graph& body = body_of(node, "body");
  const std::size_t states = state_count(node);
  QUENCH_CHECK(body.inputs().size() == node.inputs().size() && body.outputs().size() > states &&
                   node.outputs().size() < body.outputs().size(),
               node.where(), ": the body has ", body.inputs().size(), " inputs and ", body.outputs().size(),
               " outputs, which do not fit the node's ", node.inputs().size(), " inputs and ", node.outputs().size(),
               " outputs");
  set_capture_types(node, body);
  if (!body.inputs()[0]->has_rank()) body.inputs()[0]->set_type(TypeInfo::tensor(DType::kInt64, Dims{}));
  if (!body.inputs()[1]->has_rank()) body.inputs()[1]->set_type(TypeInfo::tensor(DType::kBool, Dims{}));
  settle_states(node, body, states);
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    if (!node.outputs()[i]) continue;
    const TypeInfo& made = body.outputs()[1 + i]->type();
    node.outputs()[i]->set_type(i < states ? body.inputs()[2 + i]->type() : with_axis(made, 0, Dim()));
    node.outputs()[i]->contents = std::nullopt;
  }
}

}  // namespace

QUENCH_REGISTER_OP("If", if_else, if_shape, reads_on_host({0}), "one of two bodies, by a condition")
QUENCH_REGISTER_OP("Loop", loop, loop_shape, reads_on_host({0, 1}), "repeats a body, by count or condition")

}  // namespace quench
