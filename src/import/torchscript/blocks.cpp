#include "import/torchscript/blocks.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <optional>

#include "import/torchscript/numbers.h"
#include "import/trace/trace.h"

namespace quench {
namespace {

namespace jit = torch::jit;
using Stack = std::vector<c10::IValue>;

// Results without their tuples, in order; of a tensor also its value in the trace.
struct Leaf {
  c10::IValue value;
  jit::Value* recorded = nullptr;
};
using Leaves = std::vector<Leaf>;

bool is_number(const c10::IValue& value) { return value.isInt() || value.isDouble() || value.isBool(); }
bool is_tensor(const c10::IValue& value) { return value.isTensor() && value.toTensor().defined(); }
// What TorchScript assigns to a variable that is set on one side only and never read after the other.
bool is_unset(const c10::IValue& value) { return value.tagKind() == "Uninitialized"; }

void add_leaves(const c10::IValue& value, Leaves& leaves) {
  if (value.isTuple())
    for (const c10::IValue& element : value.toTupleRef().elements()) add_leaves(element, leaves);
  else
    leaves.push_back({value});
}

Leaves leaves_of(const Stack& values) {
  Leaves leaves;
  for (const c10::IValue& value : values) add_leaves(value, leaves);
  for (Leaf& leaf : leaves)
    if (is_tensor(leaf.value)) leaf.recorded = jit::tracer::getValueTrace(leaf.value);
  return leaves;
}

// The same tuples around other leaves.
c10::IValue with_leaves(const c10::IValue& shape, Leaves::const_iterator& next) {
  if (!shape.isTuple()) return (next++)->value;
  const auto tuple = shape.toTuple();
  Stack elements;
  for (const c10::IValue& element : tuple->elements()) elements.push_back(with_leaves(element, next));
  const auto type = tuple->type<c10::TupleType>();
  if (type->schema()) return c10::ivalue::Tuple::createNamed(std::move(elements), type);
  return c10::ivalue::Tuple::create(std::move(elements));
}

Stack with_leaves(const Stack& shapes, const Leaves& leaves) {
  Stack result;
  auto next = leaves.begin();
  for (const c10::IValue& shape : shapes) result.push_back(with_leaves(shape, next));
  return result;
}

// An unset value takes the form of the value on the other side: tuples are joined element by element.
c10::IValue in_form_of(const c10::IValue& value, const c10::IValue& other) {
  if (!other.isTuple() || !(value.isTuple() || is_unset(value))) return value;
  const auto& others = other.toTupleRef().elements();
  if (value.isTuple() && value.toTupleRef().elements().size() != others.size()) return value;
  Stack elements;
  for (std::size_t i = 0; i < others.size(); ++i)
    elements.push_back(in_form_of(value.isTuple() ? value.toTupleRef().elements()[i] : value, others[i]));
  return c10::ivalue::Tuple::create(std::move(elements));
}

Stack in_form_of(const Stack& values, const Stack& others) {
  Stack result;
  for (std::size_t i = 0; i < values.size(); ++i) result.push_back(in_form_of(values[i], others[i]));
  return result;
}

bool same(const c10::IValue& a, const c10::IValue& b) {
  if (a.isInt() && b.isInt()) return a.toInt() == b.toInt();
  if (a.isBool() && b.isBool()) return a.toBool() == b.toBool();
  if (a.isDouble() && b.isDouble()) return a.toDouble() == b.toDouble();
  if (a.isString() && b.isString()) return a.toStringRef() == b.toStringRef();
  return !a.isTensor() && !b.isTensor() && a.is(b);
}

void check_alike(const jit::Node& node, const at::Tensor& a, const at::Tensor& b) {
  const bool loop = node.kind() == c10::prim::Loop;
  QUENCH_CHECK(a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes(),
               loop ? "a loop that depends on data changes the shape or type of a tensor: "
                    : "the sides of a branch that depends on data give tensors of different shapes or types: ",
               a.toString(), a.sizes(), " and ", b.toString(), b.sizes(), place_in_source(node));
}

// A tensor of its own for a value of the trace: the tensor that it was copied from keeps its own value.
at::Tensor fresh_tensor(const at::Tensor& like, jit::Value& value) {
  const at::Tensor fresh = [&] {
    const Untraced untraced;
    return like.detach().clone();
  }();
  value.inferTypeFrom(fresh);
  jit::tracer::setValueTrace(fresh, &value);
  return fresh;
}

jit::Node& new_node(c10::Symbol kind, const std::vector<jit::Value*>& inputs) {
  const auto& state = jit::tracer::getTracingState();
  jit::Node* node = state->createNode(kind, 0);
  for (jit::Value* input : inputs) node->addInput(input);
  state->insertNode(node);
  return *node;
}

// What is recorded while it lives goes to the end of the block, and is known only there.
class InBlock {
 public:
  explicit InBlock(jit::Block& block) : at_(&block) {}

 private:
  jit::tracer::WithNestedTracingFrame frame_;
  jit::WithInsertPoint at_;
};

// A leaf of one side as a value of that side's block: a number as a tensor, zeros for what is not set there.
jit::Value* value_in(jit::Block& block, const Leaf& leaf, const c10::IValue& other) {
  if (leaf.recorded) return leaf.recorded;
  const InBlock in_block(block);
  if (!is_unset(leaf.value)) return jit::tracer::getValueTrace(number_tensor(leaf.value));
  const at::Tensor like = other.toTensor();
  return jit::tracer::getValueTrace(at::zeros(like.sizes(), like.scalar_type()));
}

at::Tensor tensor_of(const c10::IValue& value) {
  const Untraced untraced;
  return number_tensor(value);
}

// The two sides of one result -> the result.
Leaf merge(const jit::Node& node, jit::Node& branch, const Leaf& yes, const Leaf& no, bool taken) {
  if (is_unset(yes.value) && !is_tensor(no.value)) return {no.value};
  if (is_unset(no.value) && !is_tensor(yes.value)) return {yes.value};
  if (same(yes.value, no.value) || (yes.recorded && yes.recorded == no.recorded)) return {yes.value};
  const auto joins = [](const c10::IValue& value) { return is_tensor(value) || is_number(value) || is_unset(value); };
  QUENCH_CHECK(joins(yes.value) && joins(no.value), "the sides of a branch that depends on data give a ",
               yes.value.tagKind(), " and a ", no.value.tagKind(),
               "; expected tensors, numbers, tuples of them or the very same object", place_in_source(node));
  const c10::IValue &left = is_unset(yes.value) ? no.value : yes.value,
                    &right = is_unset(no.value) ? yes.value : no.value;
  const at::Tensor a = tensor_of(left), b = tensor_of(right);
  check_alike(node, a, b);
  branch.blocks()[0]->registerOutput(value_in(*branch.blocks()[0], yes, right));
  branch.blocks()[1]->registerOutput(value_in(*branch.blocks()[1], no, left));
  return {fresh_tensor(taken ? a : b, *branch.addOutput())};
}

struct Side {
  Stack results;
  std::map<const c10::TensorImpl*, jit::Value*> recorded;  // of the tensors among them

  Leaves in_form_of(const Stack& others) const {
    Leaves leaves;
    for (const c10::IValue& value : quench::in_form_of(results, others)) add_leaves(value, leaves);
    for (Leaf& leaf : leaves)
      if (is_tensor(leaf.value)) leaf.recorded = recorded.at(leaf.value.toTensor().unsafeGetTensorImpl());
    return leaves;
  }
};

std::optional<Side> record_side(const jit::Block& block, jit::Block& into, const RunBlock& run) {
  const InBlock in_block(into);
  try {
    Side side;
    side.results = run(block, {}, BlockRun::kRecorded);
    for (const Leaf& leaf : leaves_of(side.results))
      if (leaf.recorded) side.recorded[leaf.value.toTensor().unsafeGetTensorImpl()] = leaf.recorded;
    return side;
  } catch (const Raised&) {
    return std::nullopt;
  }
}

bool truth_of(const at::Tensor& condition) {
  const Untraced untraced;
  return condition.item().toBool();
}

// One attempt at a loop, with `states` (all of its leaves) before the first turn.
struct Turn {
  Leaves states, after;
  Stack results;
  jit::Node* loop = nullptr;
};

Stack first_turn(const Stack& shapes, const Turn& turn, jit::Block& body, std::int64_t first) {
  const at::Tensor count = fresh_tensor(tensor_of(std::int64_t{0}), *body.addInput());
  Leaves inner = turn.states;
  for (Leaf& leaf : inner)
    if (leaf.recorded) leaf.value = fresh_tensor(leaf.value.toTensor(), *body.addInput());
  Stack inputs = {first == 0 ? count : at::add(count, first)};
  for (const c10::IValue& state : with_leaves(shapes, inner)) inputs.push_back(state);
  return inputs;
}

Turn record_turn(const jit::Node& node, const Stack& inputs, const Leaves& states, std::int64_t first,
                 const RunBlock& run) {
  Turn turn;
  turn.states = states;
  std::vector<jit::Value*> values = {jit::tracer::getValueTrace(number_tensor(inputs[0])),
                                     jit::tracer::getValueTrace(number_tensor(inputs[1]))};
  for (const Leaf& leaf : states)
    if (leaf.recorded) values.push_back(leaf.recorded);
  turn.loop = &new_node(c10::prim::Loop, values);
  jit::Block& body = *turn.loop->addBlock();
  const InBlock in_block(body);
  const Stack results =
      run(*node.blocks()[0], first_turn({inputs.begin() + 2, inputs.end()}, turn, body, first), BlockRun::kRecorded);
  turn.results = in_form_of({results.begin() + 1, results.end()}, {inputs.begin() + 2, inputs.end()});
  turn.after = leaves_of(turn.results);
  body.registerOutput(jit::tracer::getValueTrace(number_tensor(results[0])));
  return turn;
}

// States that a turn changes must be tensors from the start: numbers become tensors, what is not yet set zeros. True if
// one did.
bool carry_changed(const jit::Node& node, Leaves& states, const Leaves& after) {
  QUENCH_CHECK(states.size() == after.size(), "a loop that depends on data changes the parts of one of its variables",
               place_in_source(node));
  bool changed = false;
  for (std::size_t i = 0; i < states.size(); ++i) {
    Leaf& state = states[i];
    if (state.recorded || is_unset(after[i].value) || same(state.value, after[i].value)) continue;
    const bool starts = is_number(state.value) || is_unset(state.value);
    QUENCH_CHECK(starts && (is_tensor(after[i].value) || is_number(after[i].value)),
                 "a loop that depends on data makes a ", after[i].value.tagKind(), " of a ", state.value.tagKind(),
                 "; expected tensors or numbers", place_in_source(node));
    const at::Tensor like = tensor_of(after[i].value);
    state.value = is_unset(state.value) ? at::zeros(like.sizes(), like.scalar_type()) : number_tensor(state.value);
    state.recorded = jit::tracer::getValueTrace(state.value);
    changed = true;
  }
  return changed;
}

// What the states are after the loop; those that it carries are its outputs.
Leaves end_loop(const jit::Node& node, const Turn& turn) {
  Leaves results;
  jit::Block& body = *turn.loop->blocks()[0];
  for (std::size_t i = 0; i < turn.states.size(); ++i) {
    const Leaf &before = turn.states[i], &after = turn.after[i];
    if (!before.recorded) {
      results.push_back(before);
      continue;
    }
    const at::Tensor tensor = tensor_of(is_unset(after.value) ? before.value : after.value);
    check_alike(node, before.value.toTensor(), tensor);
    body.registerOutput(value_in(body, after, before.value));
    results.push_back({fresh_tensor(tensor, *turn.loop->addOutput())});
  }
  return results;
}

}  // namespace

std::vector<c10::IValue> record_if(const jit::Node& node, const at::Tensor& condition, const RunBlock& run) {
  jit::Node& branch = new_node(c10::prim::If, {jit::tracer::getValueTrace(condition)});
  std::optional<Side> sides[2];
  for (std::size_t i = 0; i < 2; ++i) sides[i] = record_side(*node.blocks()[i], *branch.addBlock(), run);
  if (!sides[0] || !sides[1]) {  // a check of the data: the graph takes the side that has a result
    branch.destroy();
    return run(*node.blocks()[sides[0] ? 0 : 1], {}, BlockRun::kPlain);
  }
  const Leaves yes = sides[0]->in_form_of(sides[1]->results), no = sides[1]->in_form_of(sides[0]->results);
  QUENCH_CHECK(yes.size() == no.size(), "the sides of a branch that depends on data give results of different forms",
               place_in_source(node));
  const bool taken = truth_of(condition);
  Leaves results;
  for (std::size_t i = 0; i < yes.size(); ++i) results.push_back(merge(node, branch, yes[i], no[i], taken));
  return with_leaves(in_form_of(sides[0]->results, sides[1]->results), results);
}

std::vector<c10::IValue> record_loop(const jit::Node& node, const std::vector<c10::IValue>& inputs, std::int64_t first,
                                     const RunBlock& run) {
  Stack given = inputs;
  Leaves states = leaves_of({given.begin() + 2, given.end()});
  for (;;) {
    const Turn turn = record_turn(node, given, states, first, run);
    const Stack form = in_form_of({given.begin() + 2, given.end()}, turn.results);
    const bool formed = leaves_of(form).size() != states.size();
    if (formed) {
      std::copy(form.begin(), form.end(), given.begin() + 2);
      states = leaves_of(form);
    }
    if (formed || carry_changed(node, states, turn.after)) {
      turn.loop->destroy();
      continue;  // once more, with those in the loop
    }
    return with_leaves(form, end_loop(node, turn));
  }
}

}  // namespace quench
