// A converted graph as text, one line for each node, in the words of PyTorch's print of a converted module.
#include <ATen/ATen.h>

#include <map>

#include "ops/integer_form.h"
#include "quench/convert.h"
#include "quench/error.h"

namespace quench {
namespace {

// "(3, 3)"
std::string tuple(const std::vector<std::int64_t>& numbers) {
  std::string text = "(";
  for (const std::int64_t number : numbers) text += concat(text.size() > 1 ? ", " : "", number);
  return text + (numbers.size() == 1 ? ",)" : ")");
}

// "(1, 1)" for the same on both sides, as torch has it; else what comes before each axis, then what comes behind.
std::string padding(const std::vector<std::int64_t>& pads) {
  const std::size_t axes = pads.size() / 2;
  const std::vector<std::int64_t> before(pads.begin(), pads.begin() + axes), behind(pads.begin() + axes, pads.end());
  return tuple(before == behind ? before : pads);
}

std::string params(const QType& type) {
  return concat("scale=", type.params.scale.at(0), ", zero_point=", type.params.zero_point.at(0));
}

// "ReLU" for a Relu, "ReLU6", "Clip" for other bounds.
std::string activation(const Node& node) {
  const std::string name = node.get_string("activation", "");
  if (name == "Relu") return "ReLU";
  return name == "Relu6" ? "ReLU6" : name;
}

std::string weight_text(const Node& node, const IntegerForm& form) {
  const Value& weight = *node.input(form.slots[1]);
  const std::string per = form.in[1].scheme.per_tensor() ? "" : " per channel";
  return concat(", weight=", name_of(weight.dtype()), per);
}

std::string conv(const Node& node, const IntegerForm& form) {
  const bool transposed = float_op(node) == "ConvTranspose";
  const at::IntArrayRef w = node.input(form.slots[1])->tensor().sizes();
  const std::int64_t groups = node.get_int("group", 1);
  const std::vector<std::int64_t> kernel = w.slice(2).vec(), ones(kernel.size(), 1), zeros(2 * kernel.size(), 0);
  const std::int64_t in = transposed ? w[0] : w[1] * groups, out = transposed ? w[1] * groups : w[0];
  std::string text =
      concat("QuantizedConv", transposed ? "Transpose" : "", activation(node), kernel.size(), "d(", in, ", ", out,
             ", kernel_size=", tuple(kernel), ", stride=", tuple(node.get_ints("strides", ones)), ", ", params(form.y));
  if (const auto pads = node.get_ints("pads", zeros); pads != zeros) text += concat(", padding=", padding(pads));
  if (const auto dilations = node.get_ints("dilations", ones); dilations != ones)
    text += concat(", dilation=", tuple(dilations));
  if (groups != 1) text += concat(", groups=", groups);
  return text + weight_text(node, form) + ")";
}

std::string linear(const Node& node, const IntegerForm& form) {
  const Value& weight = *node.input(form.slots[1]);
  if (!weight.is_constant()) return concat("QuantizedMatMul", activation(node), "(", params(form.y), ")");
  const at::IntArrayRef w = weight.tensor().sizes();
  const bool transposed = float_op(node) == "Gemm" && node.get_int("transB", 0) != 0;
  const std::int64_t rows = w[w.size() - 2], columns = w.back();
  return concat("QuantizedLinear", activation(node), "(in_features=", transposed ? columns : rows,
                ", out_features=", transposed ? rows : columns, ", ", params(form.y), weight_text(node, form), ")");
}

std::string layer(const Node& node) {
  const IntegerForm form = integer_form(node);
  const std::string op = float_op(node);
  if (op == "Conv" || op == "ConvTranspose")
    if (node.input(form.slots[1])->is_constant()) return conv(node, form);
  if (op == "Gemm" || op == "MatMul") return linear(node, form);
  return concat("Quantized", op, activation(node), "(", params(form.y), ")");
}

std::string text_of(const Node& node) {
  if (!float_op(node).empty()) return layer(node);
  if (node.op() == "quench.QTable")
    return concat("Quantized", node.get_string("function", "Table"), "(", params(integer_form(node).y), ", by table)");
  if (node.op() == "quench.Quantize")
    return concat("Quantize(", params(integer_form(node).y), ", dtype=", name_of(node.output().dtype()), ")");
  if (node.op() == "quench.Dequantize") return "DeQuantize()";
  return concat(node.op(), "()");
}

}  // namespace

std::string print_converted(const QuantizedModel& model) {
  QUENCH_CHECK(model.stage == ModelStage::kConverted, "the model is ", name_of(model.stage),
               ", not converted: call convert() first");
  std::string text;
  for (const auto& node : model.graph.nodes()) text += concat("(", node->name(), "): ", text_of(*node), "\n");
  return text;
}

}  // namespace quench
