#include "import/onnx/vendor_quantizers.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>

#include "quantized/own_tensor.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/quantizers.h"
#include "quench/vendor_node.h"

namespace quench {
namespace {

constexpr const char* kMmrazor = "mmrazor.";

struct Known {
  std::string algorithm;
  const VendorOp* op;
  bool per_channel;
};

// Of two algorithms with one name for their nodes ("lsq", "lsq_plus") the first. Looked up every time: a plug-in may
// have added some.
std::optional<Known> known_of(const Node& node) {
  std::string op = node.op();
  if (op.starts_with(kMmrazor)) op = op.substr(std::string(kMmrazor).size());
  for (const auto& [algorithm, entry] : VendorNodeRegistry::instance().entries())
    for (const VendorOp* one : {&entry.item.per_tensor, &entry.item.per_channel})
      if (!one->op.empty() && one->op == op) return Known{algorithm, one, one == &entry.item.per_channel};
  return std::nullopt;
}

const at::Tensor& constant_input(const Node& node, int slot, const char* what) {
  const Value* value = node.input(slot);
  QUENCH_CHECK(value && value->is_constant() && value->tensor().numel() > 0, "input ", slot, ", the ", what,
               ", must be a constant");
  return value->tensor();
}

template <typename T>
std::vector<T> numbers_of(const at::Tensor& tensor, at::ScalarType type) {
  const at::Tensor flat = tensor.to(type).reshape(-1).contiguous();
  return {flat.const_data_ptr<T>(), flat.const_data_ptr<T>() + flat.numel()};
}

std::int64_t integer_input(const Node& node, int slot, const char* what) {
  return constant_input(node, slot, what).reshape(-1)[0].item<std::int64_t>();
}

struct Codes {
  std::int64_t min = 0, max = 0;
};

// The last two inputs, whether or not an axis precedes them.
Codes codes_of(const Node& node, const VendorOp& op) {
  if (op.layout == VendorLayout::kCodesAsAttributes)
    return {node.require_int("quant_min"), node.require_int("quant_max")};
  const int count = static_cast<int>(node.inputs().size());
  QUENCH_CHECK(count == 5 || count == 6, "it has ", count, " inputs; 5 or 6 are known");
  return {integer_input(node, count - 2, "least code"), integer_input(node, count - 1, "greatest code")};
}

QSchemeSpec scheme_of(const Codes& codes) {
  for (int bits = 1; bits <= 16; ++bits) {
    const std::int64_t half = std::int64_t{1} << (bits - 1);
    QSchemeSpec spec;
    spec.bits = bits;
    spec.is_signed = codes.min < 0;
    spec.narrow = spec.is_signed && codes.min == 1 - half;
    if (!spec.is_signed && codes.min == 0 && codes.max == 2 * half - 1) return spec;
    if (spec.is_signed && codes.max == half - 1 && (spec.narrow || codes.min == -half)) return spec;
  }
  fail("codes from ", codes.min, " to ", codes.max, " are not integers of 1 to 16 bits");
}

// The first that fits: what the node says, the channels of the layer that reads the weight, any other.
int axis_of(const Node& node, std::int64_t count) {
  const Value& data = *node.input(0);
  std::vector<int> candidates;
  if (node.inputs().size() == 6) return static_cast<int>(integer_input(node, 3, "axis"));
  for (const Value::Use& use : node.output().uses()) {
    const OpEntry* entry = OpRegistry::instance().find(use.node->op());
    if (entry && entry->traits.weight_axis && use.slot == entry->traits.weight_slot)
      candidates.push_back(entry->traits.weight_axis(*use.node));
  }
  for (int axis = 0; data.has_rank() && axis < data.rank(); ++axis) candidates.push_back(axis);
  for (const int axis : candidates) {
    const Dim& dim = data.dims()[static_cast<std::size_t>(axis < 0 ? axis + data.rank() : axis)];
    if (dim.is_number() && dim.number() == count) return axis;
  }
  fail("it has ", count, " scales, but no axis of its input has that many channels");
}

Role role_of(const Node& node) {
  if (!node.input(0)->is_constant()) return Role::kActivation;
  const auto& uses = node.output().uses();
  const bool is_bias = !uses.empty() && std::all_of(uses.begin(), uses.end(), [](const Value::Use& use) {
    const OpEntry* entry = OpRegistry::instance().find(use.node->op());
    return entry && use.slot > 0 && use.slot == entry->traits.bias_slot;
  });
  return is_bias ? Role::kBias : Role::kWeight;
}

QParams params_of_node(const Node& node, const VendorOp& op) {
  QParams params;
  params.scale = numbers_of<float>(constant_input(node, 1, "scale"), at::kFloat);
  params.zero_point.assign(params.scale.size(), 0);
  if (op.layout != VendorLayout::kMagnitude)
    params.zero_point = numbers_of<std::int32_t>(constant_input(node, 2, "zero point").round(), at::kInt);
  QUENCH_CHECK(params.zero_point.size() == params.scale.size(), "it has ", params.scale.size(), " scales and ",
               params.zero_point.size(), " zero points");
  return params;
}

QScheme scheme_of(const Node& node, const Known& known, const QParams& params) {
  if (known.op->layout == VendorLayout::kMagnitude) return QScheme::parse("log8");
  if (known.op->layout == VendorLayout::kLearnedCodes) return QScheme::parse(node.get_string("scheme", ""));
  QSchemeSpec spec = scheme_of(codes_of(node, *known.op));
  spec.symmetric = std::all_of(params.zero_point.begin(), params.zero_point.end(), [](int zero) { return zero == 0; });
  spec.power_of_two_scale = known.algorithm == "tqt";
  if (!known.per_channel) return QScheme(spec);
  spec.granularity = Granularity::kChannel;
  spec.axis = axis_of(node, static_cast<std::int64_t>(params.scale.size()));
  return QScheme(spec);
}

FakeQuantSpec spec_of(const Graph& graph, const Node& node, const Known& known, const QParams& params) {
  FakeQuantSpec spec;
  spec.algorithm = known.algorithm;
  spec.scheme = scheme_of(node, known, params);
  spec.role = role_of(node);
  const auto by = graph.metadata.find("quench.quantize_by");
  if (by != graph.metadata.end()) spec.by = quantize_by_from_name(by->second);
  for (const std::string& option : known.op->options)
    if (node.has(option)) spec.options.set(option, node.get_float(option, 0.0));
  return spec;
}

void erase_if_unused(Graph& graph, Value* value) {
  if (value && value->is_constant() && value->uses().empty() && !value->is_graph_output()) graph.erase(*value);
}

void set_learned_codes(const Node& quantizer, const Codes& codes) {
  own_tensor(quantizer, "quant_min").detach().fill_(codes.min);
  own_tensor(quantizer, "quant_max").detach().fill_(codes.max);
}

void replace(Graph& graph, Node& node, const Known& known) {
  QUENCH_CHECK(node.input(0), "it has no input");
  const QParams params = params_of_node(node, *known.op);
  const FakeQuantSpec spec = spec_of(graph, node, known, params);
  const bool learned = known.op->layout == VendorLayout::kLearnedCodes;
  const Codes codes = learned ? Codes{node.require_int("quant_min"), node.require_int("quant_max")} : Codes{};
  const std::string output = node.output().name();
  // The node goes first: the quantizer may need its name.
  Node& reader = graph.insert_before(node, "Identity", graph.unique_name(output + ".read"), {node.input(0)});
  const std::vector<Value*> inputs = node.inputs();
  graph.replace_uses(node.output(), reader.output());
  graph.erase(node);
  for (std::size_t slot = 1; slot < inputs.size(); ++slot) erase_if_unused(graph, inputs[slot]);
  Node& quantizer = insert_fake_quant_for(graph, reader, spec, {.quantize = true});
  graph.replace_uses(reader.output(), quantizer.output());
  graph.erase(reader);
  set_qparams(quantizer, params);
  if (learned) set_learned_codes(quantizer, codes);
  check_values(spec, fake_quant_tensors(quantizer));
  if (quantizer.output().name() != output) graph.rename(quantizer.output(), output);
}

}  // namespace

void read_vendor_quantizers(Graph& graph) {
  std::vector<Node*> found;
  for (const auto& node : graph.nodes())
    if (known_of(*node)) found.push_back(node.get());
  for (Node* node : found) {
    const std::string where = node->where();
    with_context([&] { return concat("at ", where); }, [&] { replace(graph, *node, *known_of(*node)); });
  }
}

}  // namespace quench
