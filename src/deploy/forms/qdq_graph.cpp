#include "deploy/forms/qdq_graph.h"

#include <ATen/ATen.h>

#include "convert/quantized.h"
#include "deploy/forms/saturation.h"
#include "graph/tensor_types.h"
#include "quant/code_tensor.h"
#include "quench/error.h"
#include "quench/pass.h"

namespace quench {
namespace {

// The type that stores the codes in a file.
DType stored_type(const QScheme& scheme) {
  if (scheme.format() == Format::kE4M3Fn) return DType::kFloat8E4M3Fn;
  if (scheme.format() == Format::kE5M2) return DType::kFloat8E5M2;
  QUENCH_CHECK(scheme.is_int(), "no file has codes of '", scheme.text(), "'");
  if (scheme.bits() <= 4) return scheme.is_signed() ? DType::kInt4 : DType::kUint4;
  if (scheme.bits() <= 8) return scheme.is_signed() ? DType::kInt8 : DType::kUint8;
  return scheme.is_signed() ? DType::kInt16 : DType::kUint16;
}

// Four bits and fewer go into eight: ONNX has no Clip of a smaller type, and runtimes have no kernels for its
// activations.
DType stored_activation(const QScheme& scheme) {
  const DType stored = stored_type(scheme);
  if (stored != DType::kInt4 && stored != DType::kUint4) return stored;
  return scheme.is_signed() ? DType::kInt8 : DType::kUint8;
}

class QdqGraph {
 public:
  QdqGraph(const Graph& ready, const QdqStyle& style) : graph_(ready), style_(style) {}

  Graph make() && {
    // Codes first: what they are does not change, whichever clamps the saturation takes over.
    const std::map<std::string, at::Tensor> baked = baked_constants(graph_);
    for (Node* node : bias_quantizers_of(graph_)) store_bias(*node);
    drop_saturated_clamps(graph_);
    for (Node* node : quantizers_of(graph_))
      with_context([&] { return concat("at ", node->where()); },
                   [&] {
                     node->input(0)->is_constant() ? store_weight(*node, baked.at(node->output().name()))
                                                   : quantize_activation(*node);
                   });
    graph_.sort();
    run_passes(graph_, {"eliminate_dead"});
    return std::move(graph_);
  }

 private:
  struct Parameters {
    Value *scale, *zero_point;
  };

  bool by_quantizer() const { return style_.names == QdqStyle::Names::kQuantizer; }
  std::string base_name(const Node& quantizer) const {
    if (by_quantizer()) return quantizer.name();
    const Value& source = *quantizer.input(0);
    if (style_.names == QdqStyle::Names::kTensor || source.is_constant()) return source.name();
    return source.producer() ? source.producer()->name() : "input";
  }

  // Quantizers with the same tensors (shared scales) have the same constants in the file.
  Parameters parameters_of(const Node& quantizer, const QType& type, const std::vector<std::int64_t>& sizes,
                           DType stored) {
    const auto [at, fresh] = parameters_.try_emplace({quantizer.input(1), quantizer.input(2)}, Parameters{});
    if (!fresh) return at->second;
    const std::string base = quantized_value(quantizer.input(1)->name());
    at->second.scale = &graph_.add_constant(graph_.unique_name(base + "_scale"), scale_tensor(type, sizes));
    at->second.zero_point =
        &graph_.add_constant(graph_.unique_name(base + "_zero_point"), zero_point_tensor(type, sizes), stored);
    return at->second;
  }

  static void set_axis(Node& node, const QScheme& scheme, int rank) {
    if (scheme.per_tensor()) return;
    node.attrs["axis"] = static_cast<std::int64_t>(scheme.axis_of(rank));
    if (scheme.granularity() == Granularity::kGroup) node.attrs["block_size"] = scheme.group();
  }

  void store_weight(Node& quantizer, const at::Tensor& baked) {
    const QType type = qtype_of(quantizer);
    Value& source = *quantizer.input(0);
    const std::string name = source.name();
    const DType stored = stored_type(type.scheme);
    const Parameters p = parameters_of(quantizer, type, baked.sizes().vec(), stored);
    Value& codes =
        graph_.add_constant(graph_.unique_name(name + "_quantized"), codes_of_baked(quantizer, baked), stored);
    Node& node =
        graph_.insert_before(quantizer, "DequantizeLinear", graph_.unique_name(base_name(quantizer) + "_dequantized"),
                             {&codes, p.scale, p.zero_point});
    node.output().set_type(source.type());
    set_axis(node, type.scheme, static_cast<int>(baked.dim()));
    graph_.replace_uses(quantizer.output(), node.output());
    graph_.erase(quantizer);
    take_name(source, node.output());
  }

  void store_bias(Node& quantizer) {
    Value& source = *quantizer.input(0);
    const std::string name = source.name();
    const at::Tensor bias = bias_codes(quantizer), step = bias_scale(quantizer);
    Value& codes = graph_.add_constant(graph_.unique_name(name + "_quantized"), bias);
    Value& scale = graph_.add_constant(graph_.unique_name(name + "_scale"), step);
    Value& zero = graph_.add_constant(graph_.unique_name(name + "_zero_point"),
                                      at::zeros(step.sizes(), at::TensorOptions().dtype(at::kInt)));
    Node& node = graph_.insert_before(quantizer, "DequantizeLinear", graph_.unique_name(name + "_dequantized"),
                                      {&codes, &scale, &zero});
    node.output().set_type(source.type());
    if (step.dim() > 0) node.attrs["axis"] = bias.dim() - 1;
    graph_.replace_uses(quantizer.output(), node.output());
    graph_.erase(quantizer);
    take_name(source, node.output());
  }

  // Where nothing reads the float constant any more, its name goes to its replacement.
  void take_name(Value& source, Value& heir) {
    if (!source.uses().empty() || source.is_graph_output()) return;
    const std::string name = source.name();
    graph_.erase(source);
    graph_.rename(heir, name);
  }

  void quantize_activation(Node& quantizer) {
    const QType type = qtype_of(quantizer);
    Value& source = *quantizer.input(0);
    std::vector<std::int64_t> sizes;
    if (!type.scheme.per_tensor()) sizes = {static_cast<std::int64_t>(type.params.scale.size())};
    QUENCH_CHECK(type.scheme.granularity() != Granularity::kGroup, "activations in groups have no Q/DQ form");
    const DType stored = stored_activation(type.scheme);
    const Parameters p = parameters_of(quantizer, type, sizes, stored);
    const std::string base = base_name(quantizer);
    Node& quantize = graph_.insert_before(quantizer, "QuantizeLinear", graph_.unique_name(base + "_quantized"),
                                          {&source, p.scale, p.zero_point});
    if (by_quantizer()) graph_.rename(quantize.output(), graph_.unique_name(base + "_quantized_out"));
    set_axis(quantize, type.scheme, type.scheme.per_tensor() ? 0 : source.rank());
    TypeInfo codes_type = source.type();
    codes_type.dtype = stored;
    quantize.output().set_type(codes_type);
    Value& codes = clipped(quantize, type, stored);
    Node& dequantize = graph_.insert_before(quantizer, "DequantizeLinear", graph_.unique_name(base + "_dequantized"),
                                            {&codes, p.scale, p.zero_point});
    set_axis(dequantize, type.scheme, type.scheme.per_tensor() ? 0 : source.rank());
    dequantize.output().set_type(source.type());
    const std::string name = quantizer.output().name();
    const bool keeps_name = quantizer.output().is_graph_output() || by_quantizer();
    graph_.replace_uses(quantizer.output(), dequantize.output());
    graph_.erase(quantizer);
    if (keeps_name) graph_.rename(dequantize.output(), name);
  }

  // A range narrower than the type's: the codes beyond it are cut off, so that they are those of the simulation.
  Value& clipped(Node& quantize, const QType& type, DType stored) {
    if (!type.scheme.is_int()) return quantize.output();
    const CodeRange all = code_range(bits_of(stored), is_signed(stored));
    const double lowest = all.low + (type.scheme.is_signed() && !style_.clip_lowest ? 1 : 0);
    if (type.scheme.qmin() <= lowest && type.scheme.qmax() >= all.high) return quantize.output();
    const auto bound = [&](int code, const char* which) {
      return &graph_.add_constant(graph_.unique_name(quantize.name() + which),
                                  at::full({}, code, at::TensorOptions().dtype(scalar_type_of(stored))), stored);
    };
    Node& clip =
        graph_.insert_after(quantize, "Clip", graph_.unique_name(quantize.name() + "_clip"),
                            {&quantize.output(), bound(type.scheme.qmin(), "_min"), bound(type.scheme.qmax(), "_max")});
    clip.output().set_type(quantize.output().type());
    return clip.output();
  }

  Graph graph_;
  QdqStyle style_;
  std::map<std::pair<const Value*, const Value*>, Parameters> parameters_;
};

}  // namespace

Graph qdq_graph(const Graph& ready, const QdqStyle& style) { return QdqGraph(ready, style).make(); }

}  // namespace quench
