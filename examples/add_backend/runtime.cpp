// The chip itself, for `quench verify`: the deployed files as its integer rule computes them. A layer with a weight
// works on codes alone, with exact sums; what follows is scaled once, and biases are float.
#include <ATen/ATen.h>

#include <map>

#include "chip_file.h"
#include "quench/executor.h"
#include "quench/import.h"
#include "quench/op.h"
#include "quench/quantizers.h"
#include "quench/verify.h"

namespace {

using quench::Graph;
using quench::Inputs;
using quench::Node;
using quench::RtValue;
using quench::Value;
using Table = std::map<std::string, ChipTensor>;

Table table_of(const std::string& file) {
  Table table;
  for (const ChipTensor& tensor : read_table(file)) table[tensor.name] = tensor;
  return table;
}

// --- the chip's two units. Codes are whole numbers in float64, in which the sums of a layer are exact.

// x -> q - z
std::vector<RtValue> to_codes(const Node& node, const Inputs& in, quench::ExecContext&) {
  const at::Tensor scale = at::tensor(node.get_float("scale", 1.0), at::kFloat);
  const double z = static_cast<double>(node.require_int("zero_point"));
  const at::Tensor code = at::floor(in[0].tensor() / scale + 0.5).to(at::kDouble) + z;
  return {RtValue(code.clamp(node.require_int("quant_min"), node.require_int("quant_max")) - z)};
}

// sum (and bias) -> float: step * sum + bias
std::vector<RtValue> rescale(const Node& node, const Inputs& in, quench::ExecContext&) {
  at::Tensor y = in[0].tensor() * node.get_float("step", 1.0);
  if (in.size() > 1) {
    std::vector<std::int64_t> shape(static_cast<std::size_t>(y.dim()), 1);
    shape[1] = -1;
    y = y + in[1].tensor().to(at::kDouble).reshape(shape);
  }
  return {RtValue(y.to(at::kFloat))};
}

void float_like_input(Node& node) {
  quench::TypeInfo type = node.input(0)->type();
  type.dtype = node.op() == "example.ToCodes" ? quench::DType::kDouble : quench::DType::kFloat;
  node.output().set_type(type);
}

// --- the deployed model as a program of the chip

class Program {
 public:
  explicit Program(const std::string& file) : graph_(quench::import_model(file)), table_(table_of(file)) {
    std::vector<Node*> layers;
    for (const auto& node : graph_.nodes()) layers.push_back(node.get());
    for (const auto& [name, tensor] : table_)
      if (Value& value = graph_.value(name); !value.is_constant()) add_codes(value, tensor);
    for (Node* layer : layers) use_codes(*layer);
    graph_.sort();
  }
  const Graph& graph() const { return graph_; }

 private:
  // Behind a quantized value its codes, and behind those what they stand for, which all readers get.
  void add_codes(Value& value, const ChipTensor& tensor) {
    Node& codes = graph_.add("example.ToCodes", graph_.unique_name(value.name() + "_codes"), {&value});
    codes.attrs = {{"scale", tensor.scale},
                   {"zero_point", std::int64_t{tensor.zero_point}},
                   {"quant_min", std::int64_t{tensor.quant_min}},
                   {"quant_max", std::int64_t{tensor.quant_max}}};
    Node& real = graph_.add("example.Rescale", graph_.unique_name(value.name() + "_real"), {&codes.output()});
    real.attrs = {{"step", tensor.scale}};
    graph_.replace_uses(value, real.output());
    graph_.set_input(codes, 0, &value);
    codes_[&real.output()] = {&codes.output(), tensor.scale};
  }

  // A layer with a weight reads codes in both places; its bias is added behind.
  void use_codes(Node& layer) {
    const quench::OpTraits& traits = quench::entry_of(layer).traits;
    const Value* weight = traits.weight_slot > 0 ? layer.input(traits.weight_slot) : nullptr;
    const auto x = codes_.find(layer.input(0));
    if (!weight || !table_.contains(weight->name()) || x == codes_.end()) return;
    const double step = table_.at(weight->name()).scale;
    const at::Tensor codes = at::round(weight->tensor().to(at::kDouble) / step);
    Value* bias = traits.bias_slot > 0 ? layer.input(traits.bias_slot) : nullptr;
    graph_.set_input(layer, 0, x->second.codes);
    graph_.set_input(layer, traits.weight_slot,
                     &graph_.add_constant(graph_.unique_name(weight->name() + "_codes"), codes));
    std::vector<Value*> inputs = {&layer.output()};
    if (bias) {
      graph_.set_input(layer, traits.bias_slot, nullptr);
      inputs.push_back(bias);
    }
    Node& scaled = graph_.add("example.Rescale", graph_.unique_name(layer.name() + "_scaled"), inputs);
    scaled.attrs = {{"step", step * x->second.scale}};
    graph_.replace_uses(layer.output(), scaled.output());
  }

  struct Codes {
    Value* codes;
    double scale;
  };
  Graph graph_;
  Table table_;
  std::map<const Value*, Codes> codes_;  // by what they stand for
};

std::vector<std::string> outputs_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value* output : graph.outputs()) names.push_back(output->name());
  return names;
}

quench::NamedValues run(const std::string& file, const quench::NamedValues& inputs) {
  const std::vector<std::string> names = outputs_of(quench::import_model(file));
  const Program program(file);
  const std::vector<std::string> inner = outputs_of(program.graph());  // what is scaled has another name
  const quench::NamedValues found = quench::Executor(program.graph()).run(inputs, inner);
  quench::NamedValues outputs;
  for (std::size_t i = 0; i < names.size(); ++i) outputs[names[i]] = found.at(inner[i]);
  return outputs;
}

// --- the same files as quench simulates them

Graph read(const std::string& file) {
  Graph graph = quench::import_model(file);
  for (const ChipTensor& tensor : read_table(file)) {
    Value& value = graph.value(tensor.name);
    quench::FakeQuantSpec spec{"example",
                               quench::QScheme::parse("int8 affine tensor"),
                               value.is_constant() ? quench::Role::kWeight : quench::Role::kActivation,
                               quench::QuantizeBy::kDivision,
                               {}};
    Node& quantizer = quench::insert_fake_quant(graph, value, spec, {.quantize = true});
    quench::set_qparams(quantizer, {{static_cast<float>(tensor.scale)}, {tensor.zero_point}});
    const quench::FakeQuantTensors tensors = quench::fake_quant_tensors(quantizer);
    tensors.own(0).detach().fill_(tensor.quant_min);
    tensors.own(1).detach().fill_(tensor.quant_max);
  }
  return graph;
}

}  // namespace

QUENCH_REGISTER_OP("example.ToCodes", to_codes, float_like_input, quench::OpTraits{},
                   "the example chip: x to codes, less the zero point")
QUENCH_REGISTER_OP("example.Rescale", rescale, float_like_input, quench::OpTraits{},
                   "the example chip: sums of codes to float")
QUENCH_REGISTER_ITEM(quench::RuntimeEntry, "example_chip", "the example chip, by its integer rule",
                     {.rule = kRoundMode, .run = run, .read = read, .ending = kModelEnding})
