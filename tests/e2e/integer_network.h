// A calibrated network run in integers: between the input's quantizer and that of the logits every activation is held
// in codes, and each layer is one of the plain integer ops (quant/integer_ops.h).
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <string>
#include <vector>

#include "ops/run_op.h"
#include "quant/accumulator.h"
#include "quant/integer_ops.h"
#include "quench/fake_quant.h"

namespace quench {

inline bool is_quantizer(const Node* node) { return node && node->op() == "quench.FakeQuant"; }

inline QType type_of(const Node& quantizer) {
  const FakeQuantSpec spec = fake_quant_spec(quantizer);
  return {spec.scheme, make_fake_quant(spec)->deployed(fake_quant_tensors(quantizer))};
}

inline std::vector<float> floats_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kFloat).contiguous();
  return {flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel()};
}

// One layer, ready to be computed.
struct IntegerLayer {
  const Node& node;
  std::vector<QTensor> in;
  at::Tensor bias;  // int32, or undefined
  Output y;

  const QTensor& operand(std::size_t index) const {
    QUENCH_CHECK(index < in.size(), node.where(), " reads a float tensor");
    return in[index];
  }
  // Ops that only move codes must find both sides on one grid.
  const QTensor& passed() const {
    const QType& type = operand(0).type;
    QUENCH_CHECK(type.scheme == y.type.scheme && type.params == y.type.params, node.where(),
                 ": codes cannot pass, its output is quantized otherwise than its input");
    return in[0];
  }
};

inline IntegerWindow integer_window(const Node& node) {
  QUENCH_CHECK(node.get_string("auto_pad", "NOTSET") == "NOTSET", node.where(), ": pads must be explicit here");
  return {node.get_ints("strides", {}), node.get_ints("pads", {}), node.get_ints("dilations", {})};
}

inline Pool integer_pool(const Node& node) {
  return {node.require_ints("kernel_shape"), integer_window(node), node.get_int("ceil_mode", 0) != 0,
          node.get_int("count_include_pad", 0) != 0};
}

inline at::Tensor conv_layer(const IntegerLayer& layer) {
  return integer_conv(layer.operand(0), layer.operand(1), layer.bias, integer_window(layer.node),
                      layer.node.get_int("group", 1), layer.y);
}

inline at::Tensor gemm_layer(const IntegerLayer& layer) {
  const Node& node = layer.node;
  QUENCH_CHECK(node.get_float("alpha", 1.0) == 1.0 && node.get_float("beta", 1.0) == 1.0, node.where(),
               ": alpha and beta must be 1");
  return integer_gemm(layer.operand(0), layer.operand(1), layer.bias,
                      {node.get_int("transA", 0) != 0, node.get_int("transB", 0) != 0}, layer.y);
}

inline at::Tensor pad_layer(const IntegerLayer& layer) {
  QUENCH_CHECK(layer.node.get_string("mode", "constant") == "constant" && !layer.node.input(3), layer.node.where(),
               ": only constant pads of all axes are known here");
  const at::Tensor pads = layer.node.input(1)->tensor().to(at::kLong).contiguous();
  const auto* first = pads.const_data_ptr<std::int64_t>();
  const Value* fill = layer.node.input(2);
  return integer_pad(layer.passed(), {first, first + pads.numel()}, fill ? fill->tensor().item<float>() : 0.0F);
}

// Slice, Reshape and the like: the graph's own operator, on codes.
inline at::Tensor moving_layer(const IntegerLayer& layer) {
  std::vector<RtValue> inputs = {RtValue(layer.passed().codes)};
  for (std::size_t slot = 1; slot < layer.node.inputs().size(); ++slot) {
    const Value* value = layer.node.inputs()[slot];
    inputs.push_back(value ? RtValue(value->tensor()) : RtValue());
  }
  return run_one(layer.node.op(), inputs, layer.node.attrs);
}

inline at::Tensor compute(const IntegerLayer& layer) {
  using Compute = at::Tensor (*)(const IntegerLayer&);
  static const std::map<std::string, Compute> ops = {
      {"Conv", conv_layer},
      {"Gemm", gemm_layer},
      {"Add", [](const IntegerLayer& l) { return integer_add(l.operand(0), l.operand(1), l.y); }},
      {"AveragePool",
       [](const IntegerLayer& l) { return integer_average_pool(l.operand(0), integer_pool(l.node), l.y); }},
      {"GlobalAveragePool", [](const IntegerLayer& l) { return integer_global_average_pool(l.operand(0), l.y); }},
      {"MaxPool", [](const IntegerLayer& l) { return integer_max_pool(l.passed(), integer_pool(l.node)); }},
      {"Pad", pad_layer},
      {"Slice", moving_layer},
      {"Reshape", moving_layer},
      {"Flatten", moving_layer}};
  const auto found = ops.find(layer.node.op());
  QUENCH_CHECK(found != ops.end(), layer.node.where(), " has no integer form here");
  return found->second(layer);
}

class IntegerNetwork {
 public:
  IntegerNetwork(const Graph& graph, Requantize rule) : rule_(rule) {
    for (const auto& node : graph.nodes())
      if (is_quantizer(node.get())) add(*node);
    QUENCH_CHECK(graph.outputs().size() == 1 && is_quantizer(graph.outputs()[0]->producer()),
                 "the network must end in one quantizer");
  }

  // By the name of the quantizer's output.
  using Codes = std::map<std::string, at::Tensor>;

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const Step& step : steps_) all.push_back(step.quantizer->output().name());
    return all;
  }
  const QType& type(const std::string& name) const { return types_.at(name); }

  // With `given`, each layer reads these codes in place of those that the layers before it have made.
  Codes run(const at::Tensor& x, const Codes* given = nullptr) const {
    Codes made;
    for (const Step& step : steps_) {
      const std::string& name = step.quantizer->output().name();
      made[name] = step.head ? layer_codes(step, given ? *given : made)
                             : quantize_reference(x, types_.at(name), fake_quant_spec(*step.quantizer).by);
      QUENCH_CHECK(at::isIntegralType(made[name].scalar_type(), false), "'", name, "' is not in integers");
    }
    return made;
  }

 private:
  struct Step {
    const Node* quantizer;
    const Node* head;  // null: the graph's input
    Clip clip;         // of the activations between head and quantizer
    at::Tensor bias;
  };

  void add(const Node& quantizer) {
    const std::string& name = quantizer.output().name();
    types_[name] = type_of(quantizer);
    const Value& value = *quantizer.input(0);
    if (value.is_constant()) {
      weights_[name] = quantize_reference(value.tensor(), types_[name], fake_quant_spec(quantizer).by);
      return;
    }
    Step step{&quantizer, value.producer(), {}, {}};
    // Activations whose input has no quantizer are part of the layer: saturation computes them.
    while (step.head && (step.head->op() == "Relu" || step.head->op() == "Clip") &&
           !is_quantizer(step.head->input(0)->producer())) {
      absorb(*step.head, step.clip);
      step.head = step.head->input(0)->producer();
    }
    QUENCH_CHECK(step.head || value.is_input(), "'", value.name(), "' comes of an activation on the float input");
    if (step.head) step.bias = bias_codes(*step.head);
    steps_.push_back(step);
  }

  static void absorb(const Node& activation, Clip& clip) {
    const auto bound = [&](int slot, float none) {
      return activation.input(slot) ? activation.input(slot)->tensor().item<float>() : none;
    };
    const bool relu = activation.op() == "Relu";
    clip.min = std::max(clip.min, relu ? 0.0F : bound(1, clip.min));
    clip.max = std::min(clip.max, relu ? clip.max : bound(2, clip.max));
  }

  at::Tensor bias_codes(const Node& layer) const {
    if ((layer.op() != "Conv" && layer.op() != "Gemm") || !layer.input(2)) return {};
    const Node* node = layer.input(2)->producer();
    QUENCH_CHECK(node && node->op() == "quench.QuantizeBias", layer.where(), " has a bias in float");
    const float x_scale = types_.at(layer.input(0)->name()).params.scale[0];
    return at::tensor(at::ArrayRef<std::int32_t>(
        quantize_bias(floats_of(node->input(0)->tensor()), x_scale, types_.at(layer.input(1)->name()).params.scale)));
  }

  at::Tensor layer_codes(const Step& step, const Codes& held) const {
    const Node& node = *step.head;
    IntegerLayer layer{node, {}, step.bias, {types_.at(step.quantizer->output().name()), {rule_}, step.clip}};
    for (const Value* value : node.inputs()) {
      if (!value || !is_quantizer(value->producer())) continue;  // shapes and biases
      const std::string& name = value->name();
      layer.in.push_back({weights_.contains(name) ? weights_.at(name) : held.at(name), types_.at(name)});
    }
    return with_context([&] { return concat("at ", node.where(), " in integers"); }, [&] { return compute(layer); });
  }

  Requantize rule_;
  std::vector<Step> steps_;
  std::map<std::string, QType> types_;
  Codes weights_;
};

}  // namespace quench
