#include "e2e/conformance_shapes.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "graph/tensor_types.h"
#include "ops/body_types.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/pass.h"

namespace quench {
namespace {

// Calls `action` for every body of a node.
template <typename Action>
void for_each_body(const Node& node, Action action) {
  for (const auto& [key, attr] : node.attrs) {
    if (const auto* body = std::get_if<GraphPtr>(&attr)) action(**body);
    if (const auto* bodies = std::get_if<std::vector<GraphPtr>>(&attr))
      for (const GraphPtr& body : *bodies) action(*body);
  }
}

void forget(Value* value) {
  if (!value) return;
  value->set_type({});
  value->contents.reset();
}

void forget_types(Graph& graph) {
  for (const auto& node : graph.nodes()) {
    for (Value* output : node->outputs()) forget(output);
    for_each_body(*node, [](Graph& body) {
      for (Value* input : body.inputs()) forget(input);
      forget_types(body);
    });
  }
}

// Shapes, axes, repeats: inputs that some operator reads as numbers, and short vectors of integers, of which shapes
// may be computed.
bool is_number_like(const Value& value, const RtValue& given) {
  if (!is_floating(given.dtype()) && given.tensor().dim() <= 1) return true;
  return std::any_of(value.uses().begin(), value.uses().end(), [](const Value::Use& use) {
    const std::vector<int>& slots = entry_of(*use.node).traits.host_slots;
    return std::count(slots.begin(), slots.end(), use.slot) > 0;
  });
}

// Of a sequence, what all of its elements have in common.
TypeInfo type_of(const RtValue& value) {
  if (!value.is_sequence() || value.elements().empty()) return value.type();
  TypeInfo element = type_of(value.elements()[0]);
  for (const RtValue& other : value.elements()) element = general_type(element, type_of(other));
  return TypeInfo::sequence(element);
}

using Symbols = std::map<std::string, std::int64_t>;

// A symbol for every dim of a tensor, noted with what it stands for.
TypeInfo with_symbols(const TypeInfo& type, Symbols& symbols) {
  TypeInfo result = type;
  for (Dim& dim : *result.dims) {
    const std::string name = concat("s", symbols.size());
    symbols[name] = dim.number();
    dim = Dim::symbol(name);
  }
  return result;
}

// "2*s0*s3" -> a number.
Dim bound(const Dim& dim, const Symbols& symbols) {
  if (!dim.is_symbol()) return dim;
  std::istringstream factors(dim.symbol());
  Dim result(1);
  for (std::string factor; std::getline(factors, factor, '*');) {
    const auto symbol = symbols.find(factor);
    const bool is_number = factor.find_first_not_of("0123456789") == std::string::npos;
    if (symbol == symbols.end() && !is_number) return {};
    result = result * Dim(is_number ? std::stoll(factor) : symbol->second);
  }
  return result;
}

void bind_dims(std::optional<Dims>& dims, const Symbols& symbols) {
  if (!dims) return;
  for (Dim& dim : *dims) dim = bound(dim, symbols);
}

TypeInfo bound(const TypeInfo& type, const Symbols& symbols) {
  TypeInfo result = type;
  bind_dims(result.dims, symbols);
  if (type.element) result.element = std::make_shared<const TypeInfo>(bound(*type.element, symbols));
  return result;
}

// What the symbols stand for, put into every type and every list of known elements.
void bind_all(Graph& graph, const Symbols& symbols) {
  for (Value* value : graph.values()) {
    if (!value->is_constant()) value->set_type(bound(value->type(), symbols));
    bind_dims(value->contents, symbols);
  }
}

void tell(Graph& graph, Told told, const NamedValues& values, Symbols& symbols) {
  if (told == Told::kTypes) return;
  const std::vector<Value*> inputs = graph.inputs();
  for (Value* input : inputs) {
    const auto found = values.find(input->name());
    if (found == values.end() || found->second.is_none()) continue;
    const RtValue& given = found->second;
    const bool is_optional = input->type().kind == TypeInfo::Kind::kOptional;
    const bool is_number = given.is_tensor() && !is_optional && is_number_like(*input, given);
    TypeInfo type = type_of(given);
    if (told == Told::kSymbols && given.is_tensor() && !is_number) type = with_symbols(type, symbols);
    input->set_type(is_optional ? TypeInfo::optional(type) : type);
    if (told != Told::kShapes && is_number)
      graph.replace_uses(*input, graph.add_constant(graph.unique_name(input->name()), given.tensor(), given.dtype()));
  }
}

// Operators whose results have as many elements, or dims, as the data decides; the rank of GatherND's by a dim.
bool is_decided_by_data(const Graph& graph, Told told) {
  static const std::set<std::string> ops = {"NonZero",     "Unique",         "Compress",           "NonMaxSuppression",
                                            "Loop",        "SequenceAt",     "ConcatFromSequence", "SequenceInsert",
                                            "SequenceMap", "SplitToSequence"};
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const auto& node) {
    bool found = ops.contains(node->op()) || (told == Told::kSymbols && node->op() == "GatherND");
    for_each_body(*node, [&](const Graph& body) { found = found || is_decided_by_data(body, told); });
    return found;
  });
}

std::string compare_elements(const TypeInfo& inferred, const RtValue& actual) {
  for (const RtValue& element : actual.elements()) {
    const std::string found = compare_type(inferred.element ? *inferred.element : TypeInfo(), element);
    if (!found.empty()) return "has an element that " + found;
  }
  return "";
}

// Innermost: of a sequence or optional the type of its elements.
const TypeInfo& tensor_type(const TypeInfo& type) { return type.element ? tensor_type(*type.element) : type; }

bool has_known_ranks(const Graph& graph) {
  return std::all_of(graph.inputs().begin(), graph.inputs().end(),
                     [](const Value* input) { return tensor_type(input->type()).dims.has_value(); });
}

void count_type(const TypeInfo& type, ShapeCount& count) {
  const std::optional<Dims>& dims = tensor_type(type).dims;
  if (!dims)
    ++count.no_rank;
  else if (std::all_of(dims->begin(), dims->end(), [](const Dim& dim) { return dim.is_number(); }))
    ++count.numbers;
  else
    ++count.partly;
}

}  // namespace

std::string compare_type(const TypeInfo& inferred, const RtValue& actual) {
  if (actual.is_none()) return "";
  if (inferred.kind == TypeInfo::Kind::kOptional)
    return inferred.element ? compare_type(*inferred.element, actual) : "";
  const TypeInfo found = actual.type();
  if (inferred.kind != found.kind) return concat("was inferred to be ", inferred.text(), " but is ", found.text());
  if (actual.is_sequence()) return compare_elements(inferred, actual);
  bool fits = inferred.dtype == found.dtype;
  if (inferred.dims) {
    fits = fits && inferred.dims->size() == found.dims->size();
    for (std::size_t i = 0; fits && i < found.dims->size(); ++i)
      fits = !(*inferred.dims)[i].is_number() || (*inferred.dims)[i] == (*found.dims)[i];
  }
  return fits ? "" : concat("was inferred to be ", inferred.text(), " but is ", found.text());
}

std::string compare_contents(const Value& value, const RtValue& actual) {
  if (!value.contents || !actual.is_tensor()) return "";
  const std::vector<std::int64_t> found = integers_of(actual.tensor());
  bool fits = found.size() == value.contents->size();
  for (std::size_t i = 0; fits && i < found.size(); ++i)
    fits = !(*value.contents)[i].is_number() || (*value.contents)[i].number() == found[i];
  return fits ? ""
              : concat("was inferred to hold ", text_of(*value.contents), " but holds ",
                       text_of(Dims(found.begin(), found.end())));
}

void ShapeCount::add(const ShapeCount& other) {
  numbers += other.numbers;
  partly += other.partly;
  no_rank += other.no_rank;
}

std::string ShapeCount::text() const {
  return concat(numbers, " in numbers, ", partly, " partly, ", no_rank, " of unknown rank");
}

std::string check_inferred(const Graph& graph, Told told, const NamedValues& values, ShapeCount& count) {
  Graph inferred = graph;
  forget_types(inferred);
  Symbols symbols;
  tell(inferred, told, values, symbols);
  infer_shapes(inferred);
  bind_all(inferred, symbols);
  if (told == Told::kNumbers) run_passes(inferred, {"fold_constants", "infer_shapes"});
  for (const auto& [name, actual] : values) {
    const Value* value = inferred.find_value(name);
    if (!value) continue;
    std::string found = compare_type(value->type(), actual);
    if (found.empty()) found = compare_contents(*value, actual);
    if (!found.empty()) return concat("'", name, "' ", found);
  }
  for (const Value* output : inferred.outputs()) {
    ShapeCount one;
    count_type(output->type(), one);
    count.add(one);
    const bool known = told == Told::kNumbers ? one.numbers > 0 : one.no_rank == 0;
    if (!known && has_known_ranks(inferred) && !is_decided_by_data(graph, told))
      return concat("'", output->name(), "' is inferred to be no more than ", output->type().text(),
                    told == Told::kNumbers ? " from shapes and numbers" : "");
  }
  return "";
}

}  // namespace quench
