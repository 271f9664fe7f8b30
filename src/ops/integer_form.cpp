#include "ops/integer_form.h"

#include <ATen/ATen.h>

#include <array>

#include "quench/error.h"

namespace quench {
namespace {

constexpr const char* kPrefix = "quench.Q";
constexpr std::array kLayers = {"Conv", "ConvTranspose", "Gemm",        "MatMul",           "Add",
                                "Mul",  "Concat",        "AveragePool", "GlobalAveragePool"};

const at::Tensor& constant_at(const Node& node, int slot, const char* what) {
  const Value* value = node.input(slot);
  QUENCH_CHECK(value && value->is_constant(), node.where(), ": input ", slot, ", a ", what, ", must be a constant");
  return value->tensor();
}

template <typename Number>
std::vector<Number> numbers_of(const at::Tensor& tensor, at::ScalarType type) {
  const at::Tensor flat = tensor.to(at::kCPU, type).reshape(-1).contiguous();
  return {flat.const_data_ptr<Number>(), flat.const_data_ptr<Number>() + flat.numel()};
}

QType type_at(const Node& node, int scale_slot, const std::string& scheme) {
  const at::Tensor& scale = constant_at(node, scale_slot, "scale");
  const at::Tensor& zero_point = constant_at(node, scale_slot + 1, "zero point");
  QUENCH_CHECK(!scale.is_complex() && !zero_point.is_complex(), node.where(), ": scales must be real numbers");
  QType type{QScheme::parse(scheme),
             {numbers_of<float>(scale, at::kFloat), numbers_of<std::int32_t>(zero_point, at::kInt)}};
  const QParams& params = type.params;
  QUENCH_CHECK(!params.scale.empty() && params.scale.size() == params.zero_point.size(), node.where(), ": ",
               params.scale.size(), " scales and ", params.zero_point.size(), " zero points in the inputs from ",
               scale_slot, " on");
  check_scales(params);
  return type;
}

std::vector<std::string> schemes_of(const Node& node, std::size_t least) {
  std::vector<std::string> schemes = node.get_strings("schemes", {});
  QUENCH_CHECK(schemes.size() >= least, node.where(), ": its attribute 'schemes' must name one scheme for each operand",
               " and one for the result, it has ", schemes.size());
  return schemes;
}

IntegerForm quantize_form(const Node& node) {
  return {{}, {}, type_at(node, 1, node.get_string("scheme", "")), {}, {}};
}

IntegerForm dequantize_form(const Node& node) {
  const QType type = type_at(node, 1, node.get_string("scheme", ""));
  return {{type}, {0}, type, {}, {}};
}

IntegerForm table_form(const Node& node) {
  const std::vector<std::string> schemes = schemes_of(node, 2);
  return {{type_at(node, 2, schemes[0])}, {0}, type_at(node, 4, schemes[1]), {}, {}};
}

IntegerForm layer_form(const Node& node) {
  IntegerForm form;
  const std::vector<std::string> schemes = schemes_of(node, 2);
  int slot = 0;
  for (std::size_t i = 0; i + 1 < schemes.size(); ++i, slot += 3) {
    form.in.push_back(type_at(node, slot + 1, schemes[i]));
    form.slots.push_back(slot);
  }
  form.y = type_at(node, slot, schemes.back());
  if (node.input(slot + 2)) form.bias_slot = slot + 2;
  form.arithmetic.rule = requantize_from_name(node.get_string("requantize", ""));
  form.arithmetic.multiplier_bits = static_cast<int>(node.get_int("multiplier_bits", 31));
  form.clip.min = static_cast<float>(node.get_float("clip_min", static_cast<double>(form.clip.min)));
  form.clip.max = static_cast<float>(node.get_float("clip_max", static_cast<double>(form.clip.max)));
  return form;
}

}  // namespace

std::string float_op(const Node& node) {
  if (!node.op().starts_with(kPrefix)) return "";
  const std::string name = node.op().substr(std::string(kPrefix).size());
  return std::find(kLayers.begin(), kLayers.end(), name) == kLayers.end() ? "" : name;
}

bool is_integer_op(const Node& node) {
  const std::string& op = node.op();
  return op == "quench.Quantize" || op == "quench.Dequantize" || op == "quench.QTable" || !float_op(node).empty();
}

IntegerForm integer_form(const Node& node) {
  return with_context([&] { return concat("at ", node.where()); },
                      [&] {
                        if (node.op() == "quench.Quantize") return quantize_form(node);
                        if (node.op() == "quench.Dequantize") return dequantize_form(node);
                        if (node.op() == "quench.QTable") return table_form(node);
                        QUENCH_CHECK(!float_op(node).empty(), "it is not an operator on codes");
                        return layer_form(node);
                      });
}

void check_not_converted(const Graph& graph, const char* nothing) {
  for (const auto& node : graph.nodes())
    QUENCH_CHECK(!is_integer_op(*node), "the model is converted (", node->where(), " computes on codes): ", nothing,
                 "; take the calibrated model that it was made from, or the float one");
}

DType code_dtype(const QScheme& scheme) {
  if (scheme.bits() <= 8) return scheme.is_signed() ? DType::kInt8 : DType::kUint8;
  return scheme.is_signed() ? DType::kInt16 : DType::kUint16;
}

}  // namespace quench
