// Sequences of tensors: made, read, changed, and converted from and to tensors.
#include <ATen/ATen.h>

#include <algorithm>

#include "ops/arguments.h"
#include "ops/body_types.h"
#include "ops/reads_on_host.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

// Of a sequence that exists at run time; its elements may have different dims.
TypeInfo element_type(const RtValue& sequence) { return *sequence.type().element; }

// Of a static type; an unknown tensor when nothing is known.
TypeInfo element_type(const Node& node, int slot) {
  const Value* value = node.input(slot);
  const bool known = value && value->type().kind == TypeInfo::Kind::kSequence && value->type().element;
  return known ? *value->type().element : TypeInfo();
}

void set_sequence(Node& node, TypeInfo element) {
  node.output().set_type(TypeInfo::sequence(std::move(element)));
  node.output().contents = std::nullopt;
}

// -size..size-1 (or ..size, for an insertion) -> 0..size.
std::size_t place_of(std::int64_t at, std::size_t size, bool inserts) {
  const std::int64_t count = static_cast<std::int64_t>(size), last = inserts ? count : count - 1;
  QUENCH_CHECK(at >= -count && at <= last, "position ", at, " is out of range for a sequence of ", count);
  return static_cast<std::size_t>(at < 0 ? at + count : at);
}

std::vector<RtValue> construct(const Node&, const Inputs& in, ExecContext&) {
  TypeInfo element = in[0].type();
  for (const RtValue& value : in) element = general_type(element, value.type());
  return {RtValue::sequence(in, element)};
}

void construct_shape(Node& node) {
  TypeInfo element = node.input(0) ? node.input(0)->type() : TypeInfo();
  for (const Value* value : node.inputs())
    if (value) element = general_type(element, value->type());
  set_sequence(node, element);
}

DType empty_dtype(const Node& node) {
  return node.has("dtype") ? dtype_from_onnx(node.require_int("dtype")) : DType::kFloat;
}

std::vector<RtValue> empty(const Node& node, const Inputs&, ExecContext&) {
  return {RtValue::sequence({}, TypeInfo::tensor(empty_dtype(node)))};
}

void empty_shape(Node& node) { set_sequence(node, TypeInfo::tensor(empty_dtype(node))); }

std::vector<RtValue> element_at(const Node&, const Inputs& in, ExecContext&) {
  const std::vector<RtValue>& elements = in[0].elements();
  return {elements[place_of(integer_at(in, 1), elements.size(), false)]};
}

void element_shape(Node& node) {
  node.output().set_type(element_type(node, 0));
  node.output().contents = std::nullopt;
}

std::vector<RtValue> insert(const Node&, const Inputs& in, ExecContext&) {
  std::vector<RtValue> elements = in[0].elements();
  const std::size_t place = given(in, 2) ? place_of(integer_at(in, 2), elements.size(), true) : elements.size();
  const TypeInfo element = elements.empty() ? in[1].type() : general_type(element_type(in[0]), in[1].type());
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(place), in[1]);
  return {RtValue::sequence(std::move(elements), element)};
}

// Of an empty sequence only the element type says something.
void insert_shape(Node& node) {
  const TypeInfo inserted = node.input(1) ? node.input(1)->type() : TypeInfo();
  const Value* sequence = node.input(0);
  const bool into_empty = sequence && inserted.is_tensor() && is_empty_sequence(*sequence);
  set_sequence(node, into_empty ? inserted : general_type(element_type(node, 0), inserted));
}

std::vector<RtValue> erase(const Node&, const Inputs& in, ExecContext&) {
  std::vector<RtValue> elements = in[0].elements();
  QUENCH_CHECK(!elements.empty(), "the sequence is empty");
  const std::size_t place = given(in, 1) ? place_of(integer_at(in, 1), elements.size(), false) : elements.size() - 1;
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(place));
  return {RtValue::sequence(std::move(elements), element_type(in[0]))};
}

void erase_shape(Node& node) { set_sequence(node, element_type(node, 0)); }

std::vector<RtValue> length(const Node&, const Inputs& in, ExecContext&) {
  return {at::scalar_tensor(static_cast<std::int64_t>(in[0].elements().size()), at::kLong)};
}

void scalar_shape(Node& node) { set_type(node, 0, DType::kInt64, Dims{}); }

// Sizes of the parts: a scalar is the size of each, a vector lists them.
std::vector<std::int64_t> part_sizes(const Inputs& in, std::int64_t total) {
  std::int64_t each = 1;
  if (given(in, 1)) {
    if (in[1].tensor().dim() > 0) return integers_at(in, 1);
    each = integer_at(in, 1);
  }
  QUENCH_CHECK(each > 0, "the size of a part must be positive, not ", each);
  std::vector<std::int64_t> sizes;
  for (std::int64_t at = 0; at < total; at += each) sizes.push_back(std::min(each, total - at));
  return sizes;
}

bool keeps_axis(const Node& node) { return node.input(1) || node.get_int("keepdims", 1) != 0; }

std::vector<RtValue> split(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const int axis = normalize_axis(node.get_int("axis", 0), static_cast<int>(x.dim()), node);
  std::vector<RtValue> parts;
  TypeInfo element;
  for (const at::Tensor& part : at::split_with_sizes(x, part_sizes(in, x.size(axis)), axis)) {
    parts.emplace_back(keeps_axis(node) ? part : part.squeeze(axis), in[0].dtype());
    element = parts.size() == 1 ? parts[0].type() : general_type(element, parts.back().type());
  }
  return {RtValue::sequence(std::move(parts), element)};
}

// The size that all parts have, where it is known that they have one.
Dim common_part(const Node& node, const Dim& total) {
  if (!node.input(1)) return 1;
  const auto sizes = input_integers(node, 1);
  if (!sizes || sizes->empty()) return {};
  const bool is_scalar = input_dims(node, 1) && input_dims(node, 1)->empty();
  if (is_scalar)
    return total.is_number() && sizes->front() > 0 && total.number() % sizes->front() == 0 ? sizes->front() : Dim();
  return std::count(sizes->begin(), sizes->end(), sizes->front()) == static_cast<std::ptrdiff_t>(sizes->size())
             ? Dim(sizes->front())
             : Dim();
}

void split_shape(Node& node) {
  TypeInfo element = TypeInfo::tensor(input_dtype(node, 0));
  if (const auto dims = input_dims(node, 0)) {
    const int axis = normalize_axis(node.get_int("axis", 0), static_cast<int>(dims->size()), node);
    element.dims = dims;
    Dim& part = (*element.dims)[static_cast<std::size_t>(axis)];
    part = common_part(node, part);
    if (!keeps_axis(node)) element.dims->erase(element.dims->begin() + axis);
  }
  set_sequence(node, element);
}

std::vector<RtValue> join(const Node& node, const Inputs& in, ExecContext&) {
  std::vector<at::Tensor> parts;
  for (const RtValue& part : in[0].elements()) parts.push_back(part.tensor());
  QUENCH_CHECK(!parts.empty(), "the sequence is empty");
  const bool stacks = node.get_int("new_axis", 0) != 0;
  const int axis = normalize_axis(node.require_int("axis"), static_cast<int>(parts[0].dim()) + (stacks ? 1 : 0), node);
  return {RtValue(stacks ? at::stack(parts, axis) : at::cat(parts, axis), in[0].elements()[0].dtype())};
}

void join_shape(Node& node) {
  const TypeInfo element = element_type(node, 0);
  std::optional<Dims> dims;
  // The parts' dims are those of the element type where they agree; along the axis nothing is known.
  if (element.dims && node.get_int("new_axis", 0) == 0) {
    dims = element.dims;
    (*dims)[static_cast<std::size_t>(normalize_axis(node.require_int("axis"), static_cast<int>(dims->size()), node))] =
        Dim();
  } else if (element.dims) {
    const int axis = normalize_axis(node.require_int("axis"), static_cast<int>(element.dims->size()) + 1, node);
    dims = with_axis(element, axis, Dim()).dims;
  }
  set_type(node, 0, element.dtype, dims);
}

// A body over the elements; further inputs are sequences of the same length, or tensors for every element.
std::vector<RtValue> map(const Node& node, const Inputs& in, ExecContext& context) {
  const Graph& body = node.require_graph("body");
  const std::size_t count = in[0].elements().size(), own = in.size() - static_cast<std::size_t>(node.captures);
  std::vector<std::vector<RtValue>> results(body.outputs().size());
  for (std::size_t i = 0; i < count; ++i) {
    Inputs arguments = in;
    for (std::size_t slot = 0; slot < own; ++slot) {
      if (!in[slot].is_sequence()) continue;
      QUENCH_CHECK(in[slot].elements().size() == count, "input ", slot, " has ", in[slot].elements().size(),
                   " elements, the first has ", count);
      arguments[slot] = in[slot].elements()[i];
    }
    const std::vector<RtValue> made = context.run_body(body, arguments);
    for (std::size_t k = 0; k < made.size(); ++k) results[k].push_back(made[k]);
  }
  std::vector<RtValue> outputs;
  for (std::size_t k = 0; k < results.size(); ++k) {
    TypeInfo element = body.outputs()[k]->type();
    for (std::size_t i = 0; i < count; ++i)
      element = i == 0 ? results[k][i].type() : general_type(element, results[k][i].type());
    outputs.push_back(RtValue::sequence(std::move(results[k]), element));
  }
  return outputs;
}

void map_shape(Node& node) {
  Graph& body = body_of(node, "body");
  set_capture_types(node, body);
  const std::size_t own = node.inputs().size() - static_cast<std::size_t>(node.captures);
  for (std::size_t i = 0; i < own && i < body.inputs().size(); ++i) {
    const Value* value = node.input(static_cast<int>(i));
    if (!value) continue;
    const bool is_sequence = value->type().kind == TypeInfo::Kind::kSequence;
    body.inputs()[i]->set_type(is_sequence ? element_type(node, static_cast<int>(i)) : value->type());
  }
  infer_shapes(body);
  for (std::size_t i = 0; i < node.outputs().size() && i < body.outputs().size(); ++i)
    if (node.outputs()[i]) node.outputs()[i]->set_type(TypeInfo::sequence(body.outputs()[i]->type()));
}

}  // namespace

QUENCH_REGISTER_OP("SequenceConstruct", construct, construct_shape, {}, "a sequence of the inputs")
QUENCH_REGISTER_OP("SequenceEmpty", empty, empty_shape, {}, "a sequence of nothing")
QUENCH_REGISTER_OP("SequenceAt", element_at, element_shape, reads_on_host({1}), "one element of a sequence")
QUENCH_REGISTER_OP("SequenceInsert", insert, insert_shape, reads_on_host({2}), "a sequence with one element more")
QUENCH_REGISTER_OP("SequenceErase", erase, erase_shape, reads_on_host({1}), "a sequence with one element less")
QUENCH_REGISTER_OP("SequenceLength", length, scalar_shape, {}, "the number of elements of a sequence")
QUENCH_REGISTER_OP("SequenceMap", map, map_shape, {}, "a body over the elements of a sequence")
QUENCH_REGISTER_OP("SplitToSequence", split, split_shape, reads_on_host({1}), "cuts a tensor into a sequence")
QUENCH_REGISTER_OP("ConcatFromSequence", join, join_shape, {}, "joins the elements of a sequence")

}  // namespace quench
