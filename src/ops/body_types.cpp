#include "ops/body_types.h"

#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {

TypeInfo general_type(const TypeInfo& a, const TypeInfo& b) {
  if (a.kind != b.kind) {  // one of them may be absent: so may the result
    const TypeInfo &maybe = a.kind == TypeInfo::Kind::kOptional ? a : b, &other = &maybe == &a ? b : a;
    if (maybe.kind != TypeInfo::Kind::kOptional || !maybe.element) return maybe;
    return TypeInfo::optional(general_type(*maybe.element, other));
  }
  if (!a.is_tensor()) {
    if (!a.element || !b.element) return a.element ? a : b;
    const TypeInfo element = general_type(*a.element, *b.element);
    return a.kind == TypeInfo::Kind::kSequence ? TypeInfo::sequence(element) : TypeInfo::optional(element);
  }
  TypeInfo result = TypeInfo::tensor(a.dtype == DType::kUndefined ? b.dtype : a.dtype);
  if (!a.dims || !b.dims || a.dims->size() != b.dims->size()) return result;
  result.dims.emplace();
  for (std::size_t i = 0; i < a.dims->size(); ++i)
    result.dims->push_back((*a.dims)[i].certainly_equal((*b.dims)[i]) ? (*a.dims)[i] : Dim());
  return result;
}

bool is_empty_sequence(const Value& value) {
  const bool is_made = value.producer() && value.producer()->op() == "SequenceEmpty";
  return is_made || (value.type().kind == TypeInfo::Kind::kSequence && !value.type().element);
}

void set_capture_types(const Node& node, Graph& body) {
  const int first = static_cast<int>(node.inputs().size()) - node.captures;
  const int body_first = static_cast<int>(body.inputs().size()) - node.captures;
  QUENCH_CHECK(first >= 0 && body_first >= 0, node.where(), " has ", node.captures, " captures, but its body only ",
               body.inputs().size(), " inputs");
  for (int i = 0; i < node.captures; ++i) {
    Value& inside = *body.inputs()[static_cast<std::size_t>(body_first + i)];
    if (const Value* outside = node.input(first + i)) inside.set_type(outside->type());
    inside.contents = input_contents(node, first + i);
  }
}

Graph& body_of(Node& node, const std::string& attr) {
  node.require_graph(attr);
  return *std::get<GraphPtr>(node.attrs.at(attr));
}

TypeInfo without_axis(const TypeInfo& type, std::int64_t axis) {
  TypeInfo result = type;
  if (result.is_tensor() && result.dims && !result.dims->empty()) {
    const auto rank = static_cast<std::int64_t>(result.dims->size());
    result.dims->erase(result.dims->begin() + (axis < 0 ? axis + rank : axis));
  }
  return result;
}

TypeInfo with_axis(const TypeInfo& type, std::int64_t axis, const Dim& dim) {
  TypeInfo result = type;
  if (result.is_tensor() && result.dims) {
    const auto rank = static_cast<std::int64_t>(result.dims->size()) + 1;
    result.dims->insert(result.dims->begin() + (axis < 0 ? axis + rank : axis), dim);
  }
  return result;
}

}  // namespace quench
