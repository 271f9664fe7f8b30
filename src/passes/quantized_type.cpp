#include "passes/quantized_type.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "quant/scale_rule.h"
#include "quench/error.h"

namespace quench {
namespace {

// Of a value with known dims; empty if one is not a number.
std::vector<std::int64_t> known_sizes(const Value& value) {
  std::vector<std::int64_t> sizes;
  for (const Dim& dim : value.dims()) {
    if (!dim.is_number()) return {};
    sizes.push_back(dim.number());
  }
  return sizes;
}

// Granularity, axis and group, as ONNX has them; false if they do not fit the data.
bool describe_layout(const Node& node, const at::Tensor& scale, QSchemeSpec& spec) {
  if (scale.numel() == 1 && scale.dim() <= 1) return true;
  const Value& data = *node.input(0);
  if (!data.has_rank() || data.rank() == 0) return false;
  const std::int64_t axis = node.get_int("axis", 1), block = node.get_int("block_size", 0);
  if (axis < -data.rank() || axis >= data.rank()) return false;
  spec.axis = static_cast<int>(axis < 0 ? axis + data.rank() : axis);
  const Dim& channels = data.dims()[static_cast<std::size_t>(spec.axis)];
  spec.granularity = Granularity::kChannel;
  if (scale.dim() == 1 && block == 0) return channels.is_number() && channels.number() == scale.numel();
  spec.granularity = Granularity::kGroup;
  spec.group = block;
  const std::vector<std::int64_t> sizes = known_sizes(data);
  if (block <= 0 || sizes.empty() || channels.number() % block != 0) return false;
  return scale.sizes() == at::IntArrayRef(QScheme(spec).scale_shape(sizes));
}

template <typename T>
std::vector<T> numbers_of(const at::Tensor& tensor, at::ScalarType type) {
  const at::Tensor flat = tensor.detach().to(at::kCPU, type).contiguous();
  return {flat.data_ptr<T>(), flat.data_ptr<T>() + flat.numel()};
}

bool is_usable(float scale) { return std::isfinite(scale) && scale >= kScaleFloor; }

}  // namespace

std::optional<QType> type_of_codes(const Node& node, DType codes) {
  const Value *scale = node.input(1), *zero = node.input(2);
  if (!node.input(0) || !scale || !scale->is_constant() || scale->dtype() != DType::kFloat) return std::nullopt;
  if (zero && !zero->is_constant()) return std::nullopt;
  if (!is_integer(codes) || bits_of(codes) > 16) return std::nullopt;
  QType type;
  type.params.scale = numbers_of<float>(scale->tensor(), at::kFloat);
  type.params.zero_point.assign(type.params.scale.size(), 0);
  if (zero) type.params.zero_point = numbers_of<std::int32_t>(zero->tensor(), at::kInt);
  if (type.params.zero_point.size() != type.params.scale.size()) return std::nullopt;
  if (!std::all_of(type.params.scale.begin(), type.params.scale.end(), is_usable)) return std::nullopt;
  QSchemeSpec spec;
  spec.bits = bits_of(codes);
  spec.is_signed = is_signed(codes);
  spec.symmetric = std::all_of(type.params.zero_point.begin(), type.params.zero_point.end(),
                               [](std::int32_t code) { return code == 0; });
  if (!describe_layout(node, scale->tensor(), spec)) return std::nullopt;
  type.scheme = QScheme(spec);
  return type;
}

std::optional<QType> with_codes(const QType& type, std::int64_t least, std::int64_t greatest) {
  QSchemeSpec spec = type.scheme.spec();
  for (const bool narrow : {false, true}) {
    for (int bits = type.scheme.bits(); bits > 0; --bits) {
      spec.bits = bits;
      spec.narrow = narrow;
      if (narrow && (!spec.is_signed || bits < 2)) continue;
      const QScheme scheme(spec);
      if (scheme.qmin() == least && scheme.qmax() == greatest) return QType{scheme, type.params};
    }
  }
  return std::nullopt;
}

}  // namespace quench
