#include "import/torchscript/numbers.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <map>
#include <set>

#include "import/trace/trace.h"
#include "quench/error.h"

namespace quench {
namespace {

namespace jit = torch::jit;
using Stack = std::vector<c10::IValue>;
using Tensors = std::vector<at::Tensor>;

bool is_number_type(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::NumberType: return true;
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::UnionType: {
      const auto parts = type.containedTypes();
      return std::any_of(parts.begin(), parts.end(), [](const auto& part) { return is_number_type(*part); });
    }
    default: return false;
  }
}

at::Tensor as_type(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.scalar_type() == type ? tensor : tensor.to(type);
}

at::ScalarType class_of(at::ScalarType type) {
  return at::isFloatingType(type) ? at::kDouble : type == at::kBool ? at::kBool : at::kLong;
}

// The element type that stands for a number of this static type; nothing for "any number".
std::optional<at::ScalarType> type_for(const c10::Type& type) {
  if (type.kind() == c10::TypeKind::IntType) return at::kLong;
  if (type.kind() == c10::TypeKind::FloatType) return at::kDouble;
  if (type.kind() == c10::TypeKind::BoolType) return at::kBool;
  return std::nullopt;
}

// Operands all of one type: the widest of theirs.
using NumberOp = at::Tensor (*)(const Tensors& operands);

at::Tensor range_length(const Tensors& in) {  // of range(low, high, step), for steps upwards
  const at::Tensor steps = at::floor_divide(at::add(at::sub(in[1], in[0]), at::sub(in[2], 1)), in[2]);
  return at::maximum(steps, at::scalar_tensor(0, at::kLong));
}

const std::map<std::string, NumberOp>& number_ops() {
  static const std::map<std::string, NumberOp> kOps = {
      {"aten::add", [](const Tensors& in) { return at::add(in[0], in[1]); }},
      {"aten::sub", [](const Tensors& in) { return at::sub(in[0], in[1]); }},
      {"aten::mul", [](const Tensors& in) { return at::mul(in[0], in[1]); }},
      {"aten::div", [](const Tensors& in) { return at::div(in[0], in[1]); }},
      {"aten::floordiv", [](const Tensors& in) { return at::floor_divide(in[0], in[1]); }},
      {"aten::remainder", [](const Tensors& in) { return at::remainder(in[0], in[1]); }},
      {"aten::pow", [](const Tensors& in) { return at::pow(in[0], in[1]); }},
      {"aten::neg", [](const Tensors& in) { return at::neg(in[0]); }},
      {"aten::sqrt", [](const Tensors& in) { return at::sqrt(in[0]); }},
      {"aten::exp", [](const Tensors& in) { return at::exp(in[0]); }},
      {"aten::log", [](const Tensors& in) { return at::log(in[0]); }},
      {"aten::floor", [](const Tensors& in) { return at::floor(in[0]); }},
      {"aten::ceil", [](const Tensors& in) { return at::ceil(in[0]); }},
      {"aten::round", [](const Tensors& in) { return at::round(in[0]); }},
      {"prim::abs", [](const Tensors& in) { return at::abs(in[0]); }},
      {"prim::max", [](const Tensors& in) { return at::maximum(in[0], in[1]); }},
      {"prim::min", [](const Tensors& in) { return at::minimum(in[0], in[1]); }},
      {"aten::lt", [](const Tensors& in) { return at::lt(in[0], in[1]); }},
      {"aten::le", [](const Tensors& in) { return at::le(in[0], in[1]); }},
      {"aten::gt", [](const Tensors& in) { return at::gt(in[0], in[1]); }},
      {"aten::ge", [](const Tensors& in) { return at::ge(in[0], in[1]); }},
      {"aten::eq", [](const Tensors& in) { return at::eq(in[0], in[1]); }},
      {"aten::ne", [](const Tensors& in) { return at::ne(in[0], in[1]); }},
      {"aten::__not__", [](const Tensors& in) { return at::logical_not(in[0]); }},
      {"aten::__and__", [](const Tensors& in) { return at::logical_and(in[0], in[1]); }},
      {"aten::__or__", [](const Tensors& in) { return at::logical_or(in[0], in[1]); }},
      {"aten::__xor__", [](const Tensors& in) { return at::logical_xor(in[0], in[1]); }},
      {"aten::__derive_index", [](const Tensors& in) { return at::add(in[1], at::mul(in[0], in[2])); }},
      {"aten::__range_length", range_length},
      {"aten::Int", [](const Tensors& in) { return in[0]; }},
      {"aten::Float", [](const Tensors& in) { return in[0]; }},
      {"aten::Bool", [](const Tensors& in) { return in[0]; }}};
  return kOps;
}

const std::map<std::string, std::optional<at::ScalarType>>& reads() {
  static const std::map<std::string, std::optional<at::ScalarType>> kReads = {
      {"aten::Int", at::kLong},     {"aten::IntImplicit", at::kLong},
      {"aten::Float", at::kDouble}, {"aten::FloatImplicit", at::kDouble},
      {"aten::Bool", at::kBool},    {"aten::is_nonzero", at::kBool},
      {"aten::ScalarImplicit", {}}, {"aten::item", {}}};
  return kReads;
}

bool has_data_number(const jit::Node& node, const Stack& stack) {
  for (std::size_t i = 0; i < stack.size(); ++i)
    if (is_data_number(stack[i], *node.input(i)->type())) return true;
  return false;
}

at::Tensor computed(const jit::Node& node, const Stack& stack, NumberOp op) {
  const std::string kind = node.kind().toQualString();
  QUENCH_CHECK(kind != "aten::__range_length" || (stack[2].isInt() && stack[2].toInt() > 0),
               "a range that depends on data has a step that is not a number above 0", place_in_source(node));
  Tensors operands;
  at::ScalarType common = at::kBool;
  for (const c10::IValue& one : stack) {
    operands.push_back(number_tensor(one));
    common = at::promote_types(common, operands.back().scalar_type());
  }
  const std::optional<at::ScalarType> wanted = type_for(*node.output()->type());
  if (wanted == at::kDouble) common = at::kDouble;  // 1 / 2 is 0.5
  const bool logical = kind == "aten::__and__" || kind == "aten::__or__" || kind == "aten::__xor__";
  QUENCH_CHECK(!logical || wanted == at::kBool, "'", kind,
               "' on the bits of a number that depends on data is not supported", place_in_source(node));
  for (at::Tensor& operand : operands) operand = as_type(operand, common);
  const at::Tensor result = op(operands);
  return as_type(result, wanted.value_or(class_of(result.scalar_type())));
}

// torch.equal: the same values of the trace are equal whatever they hold, other shapes never.
bool run_equal(Stack& stack) {
  const at::Tensor a = stack.at(0).toTensor(), b = stack.at(1).toTensor();
  if (!hangs_on_inputs(a) && !hangs_on_inputs(b)) return false;
  if (jit::tracer::getValueTrace(a) == jit::tracer::getValueTrace(b))
    stack = {true};
  else if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type())
    stack = {false};
  else
    stack = {at::eq(at::sum(at::ne(a, b)), 0)};
  return true;
}

// A tensor made from a number.
bool run_tensor(const jit::Node& node, Stack& stack) {
  at::Tensor number = number_tensor(stack.at(0));
  if (node.kind() == c10::prim::NumToTensor) {
    stack = {number};
    return true;
  }
  const bool floating = number.scalar_type() == at::kDouble;
  const at::ScalarType fallback = floating ? at::typeMetaToScalarType(at::get_default_dtype()) : number.scalar_type();
  stack = {as_type(number, stack.at(1).isNone() ? fallback : stack[1].toScalarType())};
  return true;
}

c10::IValue plain_number(const at::Tensor& held) {
  const Untraced untraced;
  const at::Scalar number = held.item();
  if (held.scalar_type() == at::kBool) return number.toBool();
  return held.scalar_type() == at::kLong ? c10::IValue(number.toLong()) : c10::IValue(number.toDouble());
}

// Strings go into errors and warnings, which are left out.
bool only_for_messages(const jit::Node& node) {
  static const std::set<std::string> kKinds = {"aten::format", "aten::str", "aten::percentFormat"};
  static const std::set<std::string> kMessages = {"prim::RaiseException", "aten::warn", "prim::Print", "aten::format",
                                                  "aten::add"};
  if (!kKinds.contains(node.kind().toQualString())) return false;
  return std::all_of(node.output()->uses().begin(), node.output()->uses().end(),
                     [](const jit::Use& use) { return kMessages.contains(use.user->kind().toQualString()); });
}

bool may_hang_on_data(const jit::Node& node, const c10::Argument& argument) {
  const std::string kind = node.kind().toQualString();
  if (kind == "aten::select" && argument.name() == "index") return true;
  if (argument.name() == "alpha" || kind == "aten::arange") return false;  // attributes and sizes of the graph
  const c10::Type& type = *argument.type();
  if (type.kind() == c10::TypeKind::NumberType) return true;
  return type.kind() == c10::TypeKind::OptionalType && type.containedTypes().at(0)->kind() == c10::TypeKind::NumberType;
}

// The tracer takes an argument from there instead of the number, whose type the operator's schema requires.
HandedOver stash(const c10::Argument& argument, const at::Tensor& number) {
  jit::Graph& graph = *jit::tracer::getTracingState()->graph;
  const bool whole = argument.type()->kind() == c10::TypeKind::IntType;
  jit::Value* value =
      graph.insert(whole ? c10::aten::Int : c10::aten::ScalarImplicit, {jit::tracer::getValueTrace(number)});
  const at::Tensor holder = [&] {
    const Untraced untraced;
    return number.clone();
  }();
  jit::tracer::setValueTrace(holder, value);
  jit::tracer::ArgumentStash::stashValue(argument.name(), 0, holder);
  return {argument.name(), value};
}

}  // namespace

std::string place_in_source(const jit::Node& node) {
  const std::string text = node.sourceRange().str();
  return text.empty() ? "" : "\n" + text.substr(0, 400);
}

bool is_data_number(const c10::IValue& value, const c10::Type& type) {
  return value.isTensor() && is_number_type(type);
}

at::Tensor number_tensor(const c10::IValue& number) {
  if (number.isTensor()) return number.toTensor();
  if (number.isBool()) return at::scalar_tensor(number.toBool() ? 1 : 0, at::kBool);  // its schema requires numbers
  const at::Scalar scalar = number.toScalar();
  return at::scalar_tensor(scalar, class_of(scalar.type()));
}

bool reads_number(const jit::Node& node) {
  return reads().contains(node.kind().toQualString()) && node.inputs().size() == 1 &&
         node.input(0)->type()->kind() == c10::TypeKind::TensorType;
}

bool run_data_numbers(const jit::Node& node, Stack& stack) {
  const std::string kind = node.kind().toQualString();
  if (kind == "aten::equal") return run_equal(stack);
  if (reads_number(node)) {
    const at::Tensor tensor = stack[0].toTensor();
    if (tensor.numel() != 1 || !hangs_on_inputs(tensor)) return false;
    const at::Tensor one = tensor.dim() == 0 ? tensor : tensor.reshape({});
    stack = {as_type(one, reads().at(kind).value_or(class_of(one.scalar_type())))};
    return true;
  }
  if (!has_data_number(node, stack)) return false;
  if (kind == "prim::NumToTensor" || kind == "aten::tensor") return run_tensor(node, stack);
  if (kind == "prim::unchecked_cast" || kind == "aten::_unwrap_optional") return true;  // as they are
  const auto op = number_ops().find(kind);
  if (op == number_ops().end() || node.outputs().size() != 1 || !is_number_type(*node.output()->type())) return false;
  stack = {computed(node, stack, op->second)};
  return true;
}

std::vector<HandedOver> hand_over_numbers(const jit::Node& node, Stack& stack) {
  std::vector<HandedOver> numbers;
  const c10::FunctionSchema* schema = node.maybeSchema();
  const bool as_text = only_for_messages(node);
  const std::string kind = node.kind().toQualString();
  if (kind == "aten::__is__" || kind == "aten::__isnot__") return numbers;  // a number is not None
  for (std::size_t i = 0; i < stack.size(); ++i) {
    if (!is_data_number(stack[i], *node.input(i)->type())) continue;
    const c10::Argument* argument = schema && i < schema->arguments().size() ? &schema->arguments()[i] : nullptr;
    QUENCH_CHECK(as_text || (argument && may_hang_on_data(node, *argument)), "'", kind,
                 "' takes a number that depends on data", argument ? " as '" + argument->name() + "'" : "",
                 "; it must be the same for every input", place_in_source(node));
    if (!as_text) {
      numbers.push_back(stash(*argument, stack[i].toTensor()));
    }
    stack[i] = plain_number(stack[i].toTensor());
  }
  return numbers;
}

void check_taken(const jit::Node& node, const std::vector<HandedOver>& numbers) {
  for (const HandedOver& number : numbers) {
    if (!number.value->uses().empty()) continue;
    // It still waits for an operator with such an argument: a node that is thrown away takes it.
    jit::Node* taker = jit::tracer::getTracingState()->graph->create(c10::prim::Constant, 0);
    jit::tracer::addInputs(taker, number.argument.c_str(), std::int64_t{0});
    taker->destroy();
    fail("'", node.kind().toQualString(), "' takes a number that depends on data as '", number.argument,
         "', which cannot be recorded", place_in_source(node));
  }
}

}  // namespace quench
