#include <ATen/ATen.h>

#include "quantized/spelling.h"
#include "quench/error.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

bool needs_sizes(const FakeQuantSpec& spec) {
  for (const FakeQuantParam& param : params_of(spec)) {
    if (param.shape == ParamShape::kInput) return true;
    if (param.shape == ParamShape::kScale && !spec.scheme.per_tensor()) return true;
  }
  return false;
}

// A dim that is not a number counts as 1: per channel only the channel axis must be known.
std::vector<std::int64_t> sizes_of(const Value& value, const FakeQuantSpec& spec) {
  if (!needs_sizes(spec)) return {};
  QUENCH_CHECK(value.has_rank(), "the rank of '", value.name(), "' is not known; '", spec.scheme.text(), "' needs it");
  const int axis = spec.scheme.per_tensor() ? -1 : spec.scheme.axis_of(value.rank());
  bool whole = spec.scheme.granularity() != Granularity::kChannel;
  for (const FakeQuantParam& param : params_of(spec)) whole = whole || param.shape == ParamShape::kInput;
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < value.rank(); ++i) {
    const Dim& dim = value.dims()[static_cast<std::size_t>(i)];
    QUENCH_CHECK(dim.is_number() || (!whole && i != axis), "dim ", i, " of '", value.name(),
                 "' is not a known number; '", spec.scheme.text(), "' needs it");
    sizes.push_back(dim.is_number() ? dim.number() : 1);
  }
  return sizes;
}

Node& place(Graph& graph, Value& value, const std::string& name) {
  if (value.producer()) return graph.insert_after(*value.producer(), kFakeQuantOp, name, {&value});
  QUENCH_CHECK(!graph.nodes().empty(), "there is no node that '", value.name(), "' could feed");
  return graph.insert_before(*graph.nodes().front(), kFakeQuantOp, name, {&value});
}

// Whether the names that a quantizer of the value would take are taken: "scale" is one whatever the algorithm.
bool has_quantizer_name(const Graph& graph, const Value& value) {
  const std::string base = quantizer_name(value.name());
  return graph.find_node(base) || graph.find_value(base + ".scale");
}

}  // namespace

Node& insert_fake_quant(Graph& graph, Value& value, const FakeQuantSpec& spec, QuantFlags flags) {
  make_fake_quant(spec);  // refuses what does not fit, before the graph is touched
  const FakeQuantTensors tensors = make_tensors(spec, sizes_of(value, spec));
  const std::vector<FakeQuantParam> params = params_of(spec);
  const std::string base = quantizer_name(value.name());
  QUENCH_CHECK(!graph.find_node(base), "'", value.name(), "' already has a quantizer");
  for (const FakeQuantParam& param : params)
    QUENCH_CHECK(!graph.find_value(base + "." + param.name), "the name '", base, ".", param.name, "' is taken");
  Node& node = place(graph, value, base);
  graph.replace_uses(value, node.output());
  set_fake_quant_spec(node, spec);
  set_fake_quant_flags(node, flags);
  std::vector<Value*> inputs = {&value};
  for (std::size_t i = 0; i < params.size(); ++i) {
    Value& constant = graph.add_constant(base + "." + params[i].name, tensors.all[i]);
    constant.set_parameter(params[i].learnable);
    inputs.push_back(&constant);
  }
  graph.set_inputs(node, inputs);
  node.output().set_type(value.type());
  return node;
}

Node& insert_fake_quant_for(Graph& graph, Node& reader, const FakeQuantSpec& spec, QuantFlags flags) {
  if (has_quantizer_name(graph, *reader.input(0))) {
    Value& x = *reader.input(0);
    Node& again = graph.insert_before(reader, "Identity", graph.unique_name(x.name() + ".again"), {&x});
    again.output().set_type(x.type());
    graph.set_input(reader, 0, &again.output());
  }
  Value& x = *reader.input(0);
  const std::vector<Value::Use> uses = x.uses();
  std::vector<int> outputs;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i)
    if (graph.outputs()[i] == &x) outputs.push_back(static_cast<int>(i));
  Node& node = insert_fake_quant(graph, x, spec, flags);
  for (const Value::Use& use : uses)
    if (use.node != &reader) graph.set_input(*use.node, use.slot, &x);
  for (const int index : outputs) graph.set_output(index, x);
  return node;
}

}  // namespace quench
