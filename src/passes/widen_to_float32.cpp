// widen_to_float32: a model that computes in float16 or bfloat16 computes in float32 instead.
//   before: x (float16) -> Conv(w: float16) -> y (float16)
//   after:  x (float16) -> Cast -> Conv(w: float32) -> Cast -> y (float16)
// Constants, attributes that name a type, Casts and bodies are widened; inputs and outputs of the model keep their
// names and types, with a Cast at the border. What was rounded to 16 bits on the way is no longer rounded.
#include <ATen/ATen.h>

#include <map>
#include <set>

#include "graph/border.h"
#include "quench/error.h"
#include "quench/pass.h"

namespace quench {
namespace {

using Borders = std::set<const Node*>;  // Casts that make an output of the model, and nothing else

constexpr auto kFloat32 = static_cast<std::int64_t>(DType::kFloat);

bool is_narrow(const TypeInfo& type) {
  return type.is_tensor() ? is_narrow_float(type.dtype) : type.element && is_narrow(*type.element);
}

TypeInfo widened(TypeInfo type) {
  if (type.is_tensor() && is_narrow_float(type.dtype)) type.dtype = DType::kFloat;
  if (type.element) type.element = std::make_shared<const TypeInfo>(widened(*type.element));
  return type;
}

// Attributes that hold the number of an element type.
bool names_a_type(const std::string& attr) {
  static const std::set<std::string> names = {
      "to", "dtype", "output_dtype", "output_datatype", "softmax_precision", "stash_type"};
  return names.contains(attr);
}

// What has no 32-bit form.
void check(const Graph& graph) {
  for (const auto& values : {graph.inputs(), graph.outputs()})
    for (const Value* value : values)
      QUENCH_CHECK(value->type().is_tensor() || !is_narrow(value->type()), "'", value->name(), "' is ",
                   value->type().text(), ", which no Cast takes: the model cannot be widened to float32");
  for (const auto& node : graph.nodes())
    for (const auto& values : {node->inputs(), node->outputs()})
      for (const Value* value : values)
        QUENCH_CHECK(node->op() != "BitCast" || !value || !is_narrow(value->type()), node->where(),
                     " reads the bits of 16-bit floats: the model cannot be widened to float32");
}

Borders output_borders(const Graph& graph) {
  Borders found;
  for (const Value* output : graph.outputs())
    if (is_narrow(output->type()) && &source_of_output(*output) != output) found.insert(output->producer());
  return found;
}

// Behind `output`, whose name it takes over.
Value& insert_narrowing(Graph& graph, Value& output) {
  const std::string name = output.name();
  const TypeInfo type = output.type();
  graph.rename(output, graph.unique_name(name + ".float32"));
  Node& cast = graph.add("Cast", name, {&output}, std::vector<std::string>{name});
  cast.attrs["to"] = static_cast<std::int64_t>(type.dtype);
  cast.output().set_type(type);
  return cast.output();
}

int narrow_outputs(Graph& graph, Borders& borders) {
  std::map<const Value*, Value*> casts;  // an output may be listed twice
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    Value& output = *graph.outputs()[i];
    if (!is_narrow(output.type()) || output.is_input() || borders.contains(output.producer())) continue;
    const auto [at, fresh] = casts.try_emplace(&output, nullptr);
    if (fresh) at->second = &insert_narrowing(graph, output);
    borders.insert(at->second->producer());
    graph.set_output(static_cast<int>(i), *at->second);
  }
  return static_cast<int>(casts.size());
}

// Readers of a narrow input read a Cast of it; those that are Casts themselves need none.
int widen_inputs(Graph& graph) {
  int changes = 0;
  for (Value* input : graph.inputs()) {
    std::vector<Value::Use> readers;
    for (const Value::Use& use : input->uses())
      if (is_narrow(input->type()) && use.node->op() != "Cast") readers.push_back(use);
    if (readers.empty()) continue;
    Node& cast =
        graph.insert_before(*graph.nodes().front(), "Cast", graph.unique_name(input->name() + ".float32"), {input});
    cast.attrs["to"] = kFloat32;
    cast.output().set_type(widened(input->type()));
    for (const Value::Use& use : readers) graph.set_input(*use.node, use.slot, &cast.output());
    ++changes;
  }
  return changes;
}

int widen_body(Graph& body);

int widen_attr(const std::string& name, Attr& attr) {
  if (auto* number = std::get_if<std::int64_t>(&attr)) {
    if (!names_a_type(name) || !is_narrow_float(static_cast<DType>(*number))) return 0;
    *number = kFloat32;
    return 1;
  }
  if (auto* tensor = std::get_if<TensorAttr>(&attr); tensor && is_narrow_float(tensor->dtype)) {
    *tensor = make_tensor_attr(tensor->tensor->to(at::kFloat));
    return 1;
  }
  if (auto* type = std::get_if<TypeInfo>(&attr); type && is_narrow(*type)) {
    *type = widened(*type);
    return 1;
  }
  if (const auto* body = std::get_if<GraphPtr>(&attr)) return widen_body(**body);
  int changes = 0;
  if (const auto* bodies = std::get_if<std::vector<GraphPtr>>(&attr))
    for (const GraphPtr& body : *bodies) changes += widen_body(*body);
  return changes;
}

// All values but those at the border.
int widen_inside(Graph& graph, const Borders& borders) {
  int changes = 0;
  for (Value* constant : graph.constants())
    if (is_narrow_float(constant->dtype())) {
      graph.set_tensor(*constant, constant->tensor().to(at::kFloat));
      ++changes;
    }
  for (const auto& node : graph.nodes()) {
    if (borders.contains(node.get())) continue;
    for (auto& [name, attr] : node->attrs) changes += widen_attr(name, attr);
    for (Value* output : node->outputs())
      if (output) output->set_type(widened(output->type()));
  }
  return changes;
}

// Without a border: what it takes and gives is widened with the graph around it.
int widen_body(Graph& body) {
  for (Value* input : body.inputs()) input->set_type(widened(input->type()));
  return widen_inside(body, {});
}

int widen_to_float32(Graph& graph) {
  check(graph);
  Borders borders = output_borders(graph);
  int changes = narrow_outputs(graph, borders);
  changes += widen_inside(graph, borders);
  return changes + widen_inputs(graph);
}

}  // namespace

QUENCH_REGISTER_PASS("widen_to_float32", widen_to_float32,
                     "float16 and bfloat16 become float32, with a Cast at the model's inputs and outputs")

}  // namespace quench
