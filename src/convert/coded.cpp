#include "convert/coded.h"

#include <ATen/ATen.h>

#include <set>

#include "convert/quantized.h"
#include "graph/tensor_types.h"
#include "ops/integer_form.h"
#include "quench/error.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

// One code an element; up to four bits are packed in files.
DType weight_dtype(const QScheme& scheme, const at::Tensor& codes) {
  if (!scheme.is_int() || scheme.bits() > 4) return dtype_of(codes);
  return scheme.is_signed() ? DType::kInt4 : DType::kUint4;
}

class ToCodes {
 public:
  explicit ToCodes(const Graph& quantized) : baked_(baked_constants(quantized)) { result_.graph = quantized; }

  CodeGraph run() {
    for (Node* node : bias_quantizers_of(graph())) add_bias(*node);
    for (Node* node : quantizers_of(graph()))
      with_context([&] { return concat("at ", node->where()); },
                   [&] { node->input(0)->is_constant() ? add_weight(*node) : add_activation(*node); });
    return std::move(result_);
  }

 private:
  Graph& graph() { return result_.graph; }

  // Leaves it without its own tensors, which free their names.
  void strip(Node& quantizer, Value& x) {
    const std::set<Value*> inputs(quantizer.inputs().begin(), quantizer.inputs().end());
    graph().set_inputs(quantizer, {&x});
    for (Value* input : inputs)
      if (input && input->is_constant() && input->uses().empty() && !input->is_graph_output()) graph().erase(*input);
    quantizer.attrs.clear();
    quantizer.metadata.clear();
  }

  void add_params(Coded& coded, const std::string& base) {
    const QParams& params = coded.type.params;
    at::Tensor scale = at::tensor(at::ArrayRef<float>(params.scale));
    at::Tensor zero_point = at::tensor(at::ArrayRef<std::int32_t>(params.zero_point));
    if (coded.type.scheme.is_int()) zero_point = store_codes(zero_point, coded.type.scheme);
    if (coded.type.scheme.per_tensor()) scale = scale.reshape({}), zero_point = zero_point.reshape({});
    coded.scale = &graph().add_constant(graph().unique_name(base + ".scale"), scale);
    coded.zero_point = zero_point.any().item<bool>()
                           ? &graph().add_constant(graph().unique_name(base + ".zero_point"), zero_point)
                           : &shared_zeros(zero_point);
  }

  // One constant for all zero points that are 0 and of one type and shape: most are, and small networks have many.
  Value& shared_zeros(const at::Tensor& zeros) {
    std::string name = concat("zero_point.", name_of(dtype_of(zeros)));
    if (zeros.dim() > 0) name += concat(".", zeros.numel());
    Value*& found = zeros_[name];
    if (!found) found = &graph().add_constant(graph().unique_name(name), zeros);
    return *found;
  }

  void add_bias(Node& quantizer) {
    const std::string name = quantizer.output().name();
    const at::Tensor codes = bias_codes(quantizer);
    Value& rounded = graph().add_constant(graph().unique_name(name + ".rounded"), baked_.at(name));
    result_.int32_biases[rounded.name()] = codes;
    graph().replace_uses(quantizer.output(), rounded);
    strip(quantizer, rounded);
    graph().erase(quantizer);
  }

  void add_weight(Node& quantizer) {
    Coded coded;
    coded.type = qtype_of(quantizer);
    Value& plain = *quantizer.input(0);
    const std::string name = plain.name(), output = quantizer.output().name();
    const at::Tensor codes = codes_of_baked(quantizer, baked_.at(output));
    strip(quantizer, plain);
    const bool shared = plain.uses().size() > 1 || plain.is_graph_output();
    coded.codes =
        &graph().add_constant(graph().unique_name(name + ".codes"), codes, weight_dtype(coded.type.scheme, codes));
    add_params(coded, output);
    graph().set_op(quantizer, "quench.Dequantize");
    graph().set_inputs(quantizer, {coded.codes, coded.scale, coded.zero_point});
    quantizer.attrs["scheme"] = coded.type.scheme.text();
    if (shared) return;
    graph().erase(plain);
    graph().rename(*coded.codes, name);
  }

  void add_activation(Node& quantizer) {
    Coded coded;
    coded.type = qtype_of(quantizer);
    const QuantizeBy by = fake_quant_spec(quantizer).by;
    Value& x = *quantizer.input(0);
    const std::string name = quantizer.output().name();
    strip(quantizer, x);
    coded.codes = &quantizer.output();
    add_params(coded, name);
    graph().set_op(quantizer, "quench.Quantize");
    graph().set_inputs(quantizer, {&x, coded.scale, coded.zero_point});
    quantizer.attrs["scheme"] = coded.type.scheme.text();
    quantizer.attrs["by"] = std::string(name_of(by));
    const bool is_output = quantizer.output().is_graph_output();
    Node& back = add_dequantize(graph(), quantizer, name + ".real", coded);
    back.output().set_type(x.type());
    graph().replace_uses(quantizer.output(), back.output());
    TypeInfo type = x.type();
    type.dtype = coded.type.scheme.is_int() ? code_dtype(coded.type.scheme) : DType::kUndefined;
    quantizer.output().set_type(type);
    if (is_output) {
      graph().rename(quantizer.output(), graph().unique_name(quantizer_name(name)));
      graph().rename(back.output(), name);
    }
    result_.codes[name] = quantizer.output().name();
  }

  std::map<std::string, at::Tensor> baked_;
  std::map<std::string, Value*> zeros_;
  CodeGraph result_;
};

}  // namespace

std::optional<Coded> dequantized(const Value* value) {
  const Node* node = value ? value->producer() : nullptr;
  if (!node || node->op() != "quench.Dequantize") return {};
  return Coded{node->input(0), node->input(1), node->input(2), integer_form(*node).y};
}

Coded quantized_by(const Node& quantize) {
  return {&quantize.output(), quantize.input(1), quantize.input(2), integer_form(quantize).y};
}

Node& add_dequantize(Graph& graph, Node& after, const std::string& name, const Coded& coded) {
  Node& node = graph.insert_after(after, "quench.Dequantize", graph.unique_name(name),
                                  {coded.codes, coded.scale, coded.zero_point});
  node.attrs["scheme"] = coded.type.scheme.text();
  return node;
}

CodeGraph to_codes(const Graph& quantized) { return ToCodes(quantized).run(); }

}  // namespace quench
