#include "import/pt2/calls.h"

#include "import/aten/graph.h"
#include "import/onnx/types.h"
#include "import/pt2/control.h"
#include "import/pt2/numbers.h"
#include "import/pt2/targets.h"
#include "quench/error.h"

namespace quench {
namespace {

using Kind = Pt2Item::Kind;

std::string module_of(const Pt2Node& node) {
  const std::string module = innermost_module(node.modules);
  return module.empty() ? "the outermost module" : concat("module '", module, "'");
}

std::string kind_name(const Pt2Node& node) { return node.target.substr(node.target.rfind('.') + 1); }

// The one symbolic number, or truth, that a node gives.
const std::string& number_name(const Pt2Node& node) {
  const bool one = node.outputs.size() == 1 && node.outputs[0].items.size() == 1;
  QUENCH_CHECK(one && node.outputs[0].items[0].kind == Kind::kSymbol, "does not give one symbolic number");
  return node.outputs[0].items[0].text;
}

bool gives_truth(const Pt2Node& node) {
  return node.is_condition && node.outputs.size() == 1 && node.outputs[0].items.size() == 1 &&
         node.outputs[0].items[0].kind == Kind::kSymbol;
}

std::vector<std::string> result_names(const Pt2Node& node) {
  std::vector<std::string> names;
  for (const Pt2Arg& output : node.outputs)
    for (const Pt2Item& item : output.items)
      if (item.kind == Kind::kTensor) names.push_back(item.text);
  return names;
}

}  // namespace

void Pt2Calls::read() {
  for (const Pt2Node& node : program_.nodes) {
    with_context([&] { return concat("in node '", node.name, "' (", node.target, ") of ", module_of(node)); },
                 [&] { read(node); });
  }
}

void Pt2Calls::read(const Pt2Node& node) {
  if (gives_truth(node)) conditions_[number_name(node)] = &node;
  if (is_assertion(node)) return;
  if (is_control_target(node.target)) return read_control(node, *this);
  const std::string kind = kind_of_target(node.target);
  if (kind == "aten::sym_size") return read_size(node);
  if (kind == "aten::sym_numel") return read_numel(node);
  if (kind == "aten::item" || kind == "aten::_local_scalar_dense") return read_item(node);
  if (is_number_target(node.target)) return read_number(node);
  map(node, kind);
}

AtenCall Pt2Calls::call_of(const Pt2Node& node, const std::string& kind) {
  return AtenCall(graph_, kind, names_.name_of(node, kind, ""));
}

void Pt2Calls::read_size(const Pt2Node& node) {
  Value& value = values.tensor_input(node, 0);
  AtenCall call = call_of(node, "sym_size");
  call.args["dim"] = values.number_input(node, 1);
  QUENCH_CHECK(value.has_rank() && value.rank() > 0, "reads a size of a tensor without dims");
  AtenInt size = call.sizes_of(value).at(static_cast<std::size_t>(call.axis("dim", value.rank())));
  if (!size.is_number() && size.dim.is_unknown()) size.dim = values.dim_of(number_name(node));
  values.bind(number_name(node), size);
}

void Pt2Calls::read_numel(const Pt2Node& node) {
  AtenCall call = call_of(node, "sym_numel");
  AtenInt count(1);
  for (const AtenInt& size : call.sizes_of(values.tensor_input(node, 0)))
    count = compute_number(call, "_operator.mul", {count, size}, count.dim * size.dim);
  values.bind(number_name(node), count);
}

void Pt2Calls::read_item(const Pt2Node& node) {
  aliases.check_reads(node);
  AtenInt number;
  number.source = &values.tensor_input(node, 0);
  number.axis = -1;
  number.dim = values.dim_of(number_name(node));
  QUENCH_CHECK(is_integer(number.source->dtype()), "gives a number that is not an integer, which has no counterpart");
  values.bind(number_name(node), number);
}

void Pt2Calls::read_number(const Pt2Node& node) {
  AtenCall call = call_of(node, kind_name(node));
  std::vector<AtenInt> operands;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) operands.push_back(values.number_input(node, i));
  const std::string& name = number_name(node);
  values.bind(name, compute_number(call, node.target, operands, values.dim_of(name)));
}

void Pt2Calls::map(const Pt2Node& node, const std::string& full_kind) {
  const std::string kind = plain_kind(full_kind);
  const AtenEntry* entry = AtenRegistry::instance().find(kind);
  const Values inputs = values.tensors_of(node);
  const std::string owner = entry && entry->is_layer ? owners.owner_of(inputs) : "";
  const std::string name = names_.name_of(node, kind.empty() ? kind_name(node) : kind, owner);
  AtenCall call(graph_, kind, name);
  aliases.check(node, full_kind, call.where());
  const std::vector<std::string> results = result_names(node);
  for (const std::string& result : results) call.outputs.push_back(values.type_of(result));
  QUENCH_CHECK(!results.empty(), "gives no tensor, which has no counterpart");
  const Values made = entry ? mapped(node, call) : opaque(node, name, inputs);
  take_results(node, made);
  if (is_in_place_kind(full_kind)) rebind(node);
  const bool turns = kind == "t" || kind == "transpose" || kind == "permute";
  if (turns && !inputs.empty() && made[0]) owners.pass_owner(*inputs[0], *made[0]);
}

// An entry that stumbles over a contradiction (a rank, a count) has met a broken file.
Values Pt2Calls::mapped(const Pt2Node& node, AtenCall& call) const {
  for (const auto& [name, arg] : node.inputs) call.args[name] = values.argument(arg);
  try {
    return map_aten_call(call);
  } catch (const InternalError& error) {
    fail("the program contradicts itself: ", error.error().message());
  }
}

// To look at, not to run.
Values Pt2Calls::opaque(const Pt2Node& node, const std::string& name, const Values& inputs) {
  const std::string op = node.target.starts_with("torch.ops.") ? node.target.substr(10) : node.target;
  const auto results = static_cast<int>(result_names(node).size());
  Node& made = graph_.add(op, graph_.unique_name(name), inputs, results);
  return {made.outputs().begin(), made.outputs().end()};
}

void Pt2Calls::take_results(const Pt2Node& node, const Values& results) {
  const std::vector<std::string> names = result_names(node);
  QUENCH_CHECK(results.size() >= names.size(), "gives ", names.size(), " results where ", results.size(), " are known");
  for (std::size_t i = 0; i < names.size(); ++i) take(names[i], results[i]);
}

void Pt2Calls::take(const std::string& name, Value* value) {
  if (!value) return;  // has no counterpart: an error only where it is used
  values.bind(name, *value);
  if (value->producer()) value->set_type(merge_types(value->type(), values.type_of(name), name));
}

// relu_(x): from here on x is the result, and the tensor that x is a part of changes with it.
void Pt2Calls::rebind(const Pt2Node& node) {
  const std::vector<std::string> results = result_names(node);
  const std::vector<Pt2Item>& written = node.inputs.at(0).second.items;
  const bool plain = written.size() == 1 && written[0].kind == Kind::kTensor && results.size() == 1;
  QUENCH_CHECK(plain, "does not write to exactly one tensor in place");
  Value* value = &values.tensor(results[0]);
  values.rebind(written[0].text, *value);
  for (const Pt2Aliases::Part& part : aliases.parts_to_root(written[0].text)) {
    if (part.node) value = &written_into(part, *value);
    values.rebind(part.whole, *value);
  }
}

// The whole with its part replaced: the part's slice or select, the other way round.
Value& Pt2Calls::written_into(const Pt2Aliases::Part& part, Value& value) {
  const std::string kind = plain_kind(kind_of_target(part.node->target)) + "_scatter";
  AtenCall call = call_of(*part.node, kind);
  for (const auto& [name, arg] : part.node->inputs) call.args[name] = values.argument(arg);
  call.args["src"] = &value;
  call.outputs.push_back(values.type_of(part.whole));
  return *map_aten_call(call).at(0);
}

Value& Pt2Calls::condition(const std::string& name, const Pt2Node& asked_by) {
  static const std::map<std::string, std::string> kComparisons = {
      {"gt", "Greater"}, {"lt", "Less"}, {"ge", "GreaterOrEqual"}, {"le", "LessOrEqual"}, {"eq", "Equal"}};
  const auto at = conditions_.find(name);
  QUENCH_CHECK(at != conditions_.end(), "uses the condition '", name, "', which nothing before it gives");
  const Pt2Node& node = *at->second;
  const auto comparison = kComparisons.find(kind_name(node));
  QUENCH_CHECK(node.target.starts_with("_operator.") && comparison != kComparisons.end(), "depends on the condition '",
               node.target, "' of sizes, which is not supported");
  AtenCall call = call_of(asked_by, kind_name(node));
  Value& left = call.shape_value({values.number_input(node, 0)});
  return call.aux(comparison->second, {&left, &call.shape_value({values.number_input(node, 1)})});
}

}  // namespace quench
