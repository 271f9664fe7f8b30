#include "engine/integer/product.h"

#include <ATen/ATen.h>

#include <cstdlib>
#include <limits>

#include "engine/simd/byte_loops.h"
#include "kernels/parallel.h"
#include "quant/code_tensor.h"
#include "quench/error.h"

namespace quench {
namespace {

using Type = dnnl::memory::data_type;
constexpr std::int64_t kFloatExact = std::int64_t{1} << 24;  // integers that float32 holds
constexpr std::int32_t kSignShift = 128;                     // from signed codes to unsigned ones
constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();

// Codes less their zero point, output channels first; undefined where they do not fit int8.
at::Tensor centred_weight(const at::Tensor& codes, const QType& type, int axis) {
  at::Tensor wide = codes.cpu().to(at::kInt).movedim(axis, 0).contiguous();
  const at::Tensor zeros = at::tensor(at::ArrayRef<std::int32_t>(type.params.zero_point));
  std::vector<std::int64_t> shape(static_cast<std::size_t>(wide.dim()), 1);
  shape[0] = zeros.numel();
  wide = wide - zeros.view(shape);
  const bool fits = wide.numel() > 0 && wide.min().item<int>() >= -128 && wide.max().item<int>() <= 127;
  return fits ? wide.to(at::kChar).contiguous() : at::Tensor();
}

// How far the sums of one channel reach, over all codes of x.
struct Reach {
  std::int64_t low = 0, high = 0, total = 0;  // total: of the weights
};
Reach reach_of(const std::int8_t* weights, std::int64_t count, const QScheme& x) {
  std::int64_t positive = 0, negative = 0;
  for (std::int64_t i = 0; i < count; ++i) (weights[i] > 0 ? positive : negative) += weights[i];
  return {positive * x.qmin() + negative * x.qmax(), positive * x.qmax() + negative * x.qmin(), positive + negative};
}

std::vector<float> multipliers(const IntegerForm& form, Requantize rule, float y_scale) {
  std::vector<float> result;
  const float x_scale = form.in[0].params.scale[0];
  for (const float w_scale : form.in[1].params.scale)
    result.push_back(product_multiplier(rule, x_scale * w_scale, y_scale));
  return result;
}

// int32 sums to codes, channels innermost.
class RequantizeStep : public Task {
 public:
  RequantizeStep(const IntegerForm& form, const ByteProduct& product, std::int64_t rows, int sums, int codes)
      : rows_(rows),
        channels_(static_cast<std::int64_t>(product.bias.size())),
        sums_(sums),
        codes_(codes),
        has_loop_(product.has_loop),
        bias_(padded(product.bias, product.bias.size())),
        multiplier_(padded(product.multiplier, product.bias.size())),
        result_(byte_result(product, bias_.data(), multiplier_.data())),
        plain_(form.arithmetic, {form.in[0].params.scale[0], form.in[1].params.scale, 1}, product.y) {}

  void run(Frame& frame) const override {
    const auto* sums = frame.as<const std::int32_t>(sums_);
    auto* codes = frame.as<std::uint8_t>(codes_);
    const std::int64_t grain = std::max<std::int64_t>(16384 / std::max<std::int64_t>(channels_, 1), 1);
    in_parallel(rows_, grain, [&](std::int64_t first, std::int64_t last) {
      const std::int64_t at = first * channels_;
      if (has_loop_) return byte_loops().requantize(result_, last - first, channels_, sums + at, codes + at);
      for (std::int64_t i = at; i < last * channels_; ++i) {
        const auto c = static_cast<std::size_t>(i % channels_);
        codes[i] = static_cast<std::uint8_t>(plain_(std::int64_t{sums[i]} + bias_[c], c));
      }
    });
  }

 private:
  std::int64_t rows_, channels_;
  int sums_, codes_;
  bool has_loop_;
  std::vector<std::int32_t> bias_;
  std::vector<float> multiplier_;
  ByteResult result_;
  Requantizer plain_;
};

}  // namespace

std::vector<std::int32_t> ByteProduct::bias_for(bool x_signed) const {
  std::vector<std::int32_t> shifted = bias;
  const std::size_t each = weight.size() / bias.size();
  for (std::size_t i = 0; x_signed && i < weight.size(); ++i) shifted[i / each] -= kSignShift * weight[i];
  return shifted;
}

at::Tensor weight_tensor(const ByteProduct& product) {
  at::Tensor weight = at::empty(product.sizes, at::kChar);
  std::copy(product.weight.begin(), product.weight.end(), weight.mutable_data_ptr<std::int8_t>());
  return weight;
}

ByteResult byte_result(const ByteProduct& product, const std::int32_t* bias, const float* multiplier) {
  return {bias,           multiplier,         product.y.zero_point, product.y.low,
          product.y.high, product.zero_first, product.y_signed,     product.fits_int32};
}

bool is_byte(const QType& type) { return type.scheme.is_int() && type.scheme.bits() <= 8; }

at::Tensor all_bytes(const QScheme& scheme) {
  const at::Tensor bytes = at::arange(256, at::kInt);
  const at::Tensor codes = scheme.is_signed() ? bytes.to(at::kChar).to(at::kInt) : bytes;
  return codes.clamp(scheme.qmin(), scheme.qmax());
}

at::Tensor bytes_of(const at::Tensor& codes) { return codes.to(at::kInt).bitwise_and(0xFF).to(at::kByte).contiguous(); }

std::optional<ByteProduct> byte_product(const Node& node, const IntegerForm& form, int axis) {
  const Value& weight = *node.input(form.slots[1]);
  const bool bytes = is_byte(form.in[0]) && is_byte(form.in[1]) && is_byte(form.y) && form.in[0].scheme.per_tensor();
  if (!has_byte_loops() || !bytes || !weight.is_constant()) return std::nullopt;
  ByteProduct product;
  const at::Tensor centred = centred_weight(weight.tensor(), form.in[1], axis);
  if (!centred.defined()) return std::nullopt;
  product.weight.assign(centred.const_data_ptr<std::int8_t>(), centred.const_data_ptr<std::int8_t>() + centred.numel());
  product.sizes = centred.sizes().vec();
  product.y = output_codes(form.y, form.arithmetic, form.clip);
  product.y_signed = form.y.scheme.is_signed();
  const Requantize rule = form.arithmetic.rule;
  product.multiplier = multipliers(form, rule, product.y.scale);
  product.zero_first = rule == Requantize::kAffine;
  const bool as_mlas = is_mlas(rule) || rule == Requantize::kFbgemm || rule == Requantize::kQnnpack;  // in products
  product.has_loop = as_mlas || product.zero_first;
  product.fits_float = product.has_loop;

  constexpr double kFarthest = 1U << 30;
  product.fits_int32 = true;
  const std::int64_t channels = product.sizes[0], each = centred.numel() / channels;
  at::Tensor bias = at::zeros({channels}, at::kInt);
  if (form.bias_slot >= 0) bias = node.input(form.bias_slot)->tensor().cpu().to(at::kInt).contiguous();
  const std::int32_t x_zero = form.in[0].params.zero_point[0];
  for (std::int64_t c = 0; c < channels; ++c) {
    const Reach reach = reach_of(product.weight.data() + c * each, each, form.in[0].scheme);
    const std::int64_t folded = std::int64_t{bias.const_data_ptr<std::int32_t>()[c]} - x_zero * reach.total;
    const std::int64_t far = std::max(std::abs(reach.low), std::abs(reach.high));
    if (far > kLargest || far + std::abs(folded) > kLargest) return std::nullopt;
    if (far + std::abs(folded) >= kFloatExact) product.fits_float = false;
    const float multiplier = product.multiplier[product.multiplier.size() == 1 ? 0 : static_cast<std::size_t>(c)];
    if (static_cast<double>(far + std::abs(folded)) * multiplier > kFarthest) product.fits_int32 = false;
    product.bias.push_back(static_cast<std::int32_t>(folded));
  }
  return product;
}

Type sums_type(const ByteProduct& product) {
  if (!product.fits_float) return Type::s32;
  return product.y_signed ? Type::s8 : Type::u8;
}

dnnl::post_ops code_post_ops(const ByteProduct& product, int rank) {
  dnnl::post_ops ops;
  if (!product.fits_float) return ops;
  Sizes sizes(static_cast<std::size_t>(rank), 1);
  sizes[1] = static_cast<std::int64_t>(product.bias.size());
  ops.append_binary(dnnl::algorithm::binary_mul, plain_layout(sizes, Type::f32));
  const auto zero = static_cast<float>(product.y.zero_point);
  if (zero != 0.0F && !product.zero_first) ops.append_eltwise(dnnl::algorithm::eltwise_round, 0.0F, 0.0F);
  if (zero != 0.0F) ops.append_eltwise(dnnl::algorithm::eltwise_linear, 1.0F, zero);
  const CodeRange all = code_range(8, product.y_signed);
  if (product.y.low > all.low || product.y.high < all.high)
    ops.append_eltwise(dnnl::algorithm::eltwise_clip, static_cast<float>(product.y.low),
                       static_cast<float>(product.y.high));
  return ops;
}

void add_code_arguments(Builder& builder, const Node& node, const ByteProduct& product, int rank, PrimitiveCall& call) {
  if (!product.fits_float) return;
  const auto channels = static_cast<std::int64_t>(product.bias.size());
  Sizes sizes(static_cast<std::size_t>(rank), 1);
  sizes[1] = channels;
  call.constants.emplace_back(
      DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
      builder.weights().get(node.name() + ".multiplier", plain_layout(sizes, Type::f32), [&] {
        std::vector<float> all = padded(product.multiplier, product.bias.size());
        return at::tensor(at::ArrayRef<float>(all)).narrow(0, 0, channels).reshape(sizes).clone();
      }));
}

int finish_codes(Builder& builder, const Node& node, const IntegerForm& form, const ByteProduct& product, int sums) {
  if (product.fits_float) return sums;
  const Sizes sizes = builder.layout(sums).get_dims();
  const auto type = product.y_signed ? Type::s8 : Type::u8;
  const int codes = builder.add_slot(DnnlLayout(sizes, type, strides_of(builder.layout(sums))));
  std::int64_t rows = 1;
  for (const std::int64_t size : sizes) rows *= size;
  rows /= static_cast<std::int64_t>(product.bias.size());
  builder.add_step(std::make_unique<RequantizeStep>(form, product, rows, sums, codes), node, "own requantization",
                   {sums}, {codes});
  return codes;
}

}  // namespace quench
