#include "convert/quantized.h"

#include <ATen/ATen.h>

#include "quant/accumulator.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/rt_value.h"

namespace quench {
namespace {

std::vector<float> floats_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kFloat).reshape(-1).contiguous();
  return {flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel()};
}

at::Tensor scale_of(const Node& bias_quantizer, int slot) {
  return bias_quantizer.input(slot)->tensor().detach().abs();
}

}  // namespace

QType qtype_of(const Node& quantizer) {
  QType type{fake_quant_spec(quantizer).scheme, qparams_of(quantizer)};
  with_context([&] { return concat("at ", quantizer.where()); }, [&] { check_scales(type.params); });
  return type;
}

std::map<std::string, at::Tensor> baked_constants(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes())
    if ((is_quantizer(node.get()) || is_bias_quantizer(node.get())) && node->input(0)->is_constant())
      names.push_back(node->output().name());
  std::map<std::string, at::Tensor> baked;
  if (names.empty()) return baked;
  for (auto& [name, value] : Executor(graph).run({}, names))
    baked[name] = value.tensor().detach().to(at::kFloat).contiguous();
  return baked;
}

// Any algorithm ends on the grid s * (q - z) but for the float32 rounding of that product, which is far less than
// half a step; so the nearest code is the intended one.
at::Tensor codes_of_baked(const Node& quantizer, const at::Tensor& baked) {
  const QType type = qtype_of(quantizer);
  const at::Tensor codes = quantize_reference(baked, type, QuantizeBy::kDivision);
  const at::Tensor again = dequantize_reference(codes, type);
  if (!type.scheme.is_int() || baked.numel() == 0) return codes;
  // In steps of each element's own channel. 2^16 codes at most, each product within half an ulp: 2^-8 of a step is
  // beyond all of it.
  const at::Tensor step = dequantize_reference(codes.to(at::kInt) + 1, type) - again;
  const double off = ((again - baked) / step).abs().max().item<double>();
  QUENCH_CHECK(off <= 1.0 / 256, quantizer.where(), ": its weight lies off its grid by ", off,
               " steps: it cannot be stored in codes");
  return codes;
}

std::string constant_name(const Node& quantizer) { return quantizer.input(0)->name(); }

at::Tensor bias_codes(const Node& bias_quantizer) {
  const at::Tensor& bias = bias_quantizer.input(0)->tensor();
  const at::Tensor x_scale = scale_of(bias_quantizer, 1), w_scale = scale_of(bias_quantizer, 2);
  QUENCH_CHECK(x_scale.numel() == 1, bias_quantizer.where(), ": the layer's input has a scale per channel");
  const std::vector<std::int32_t> codes =
      with_context([&] { return concat("at ", bias_quantizer.where()); },
                   [&] { return quantize_bias(floats_of(bias), x_scale.item<float>(), floats_of(w_scale)); });
  return at::tensor(at::ArrayRef<std::int32_t>(codes)).reshape(bias.sizes());
}

at::Tensor bias_scale(const Node& bias_quantizer) {
  const at::Tensor& bias = bias_quantizer.input(0)->tensor();
  const at::Tensor step = (scale_of(bias_quantizer, 1).reshape({}) * scale_of(bias_quantizer, 2)).to(at::kFloat);
  // A ConvTranspose in groups has one scale for each place in a group; a file says one per channel.
  return step.numel() > 1 ? step.repeat({bias.numel() / step.numel()}) : step;
}

at::Tensor scale_tensor(const QType& type, const std::vector<std::int64_t>& sizes) {
  return at::tensor(at::ArrayRef<float>(type.params.scale)).reshape(type.scheme.scale_shape(sizes));
}

at::Tensor zero_point_tensor(const QType& type, const std::vector<std::int64_t>& sizes) {
  const at::Tensor wide = at::tensor(at::ArrayRef<std::int32_t>(type.params.zero_point));
  const at::Tensor shaped = wide.reshape(type.scheme.scale_shape(sizes));
  if (!type.scheme.is_int())
    return shaped.to(type.scheme.format() == Format::kE4M3Fn ? at::kFloat8_e4m3fn : at::kFloat8_e5m2);
  return store_codes(shaped, type.scheme);
}

}  // namespace quench
