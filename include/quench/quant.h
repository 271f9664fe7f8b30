// QScheme: how a tensor is quantized. QParams: its scales and zero points. Plain values; the arithmetic is
// in src/quant/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quench {

enum class Format : std::uint8_t { kInt, kE4M3Fn, kE5M2, kLog };
// kToken and kBlock are known by name and refused until they are built.
enum class Granularity : std::uint8_t { kTensor, kChannel, kGroup, kToken, kBlock };
enum class Role : std::uint8_t { kWeight, kActivation, kBias };

// x/s as a true division (ONNX's QuantizeLinear) or as a product with the float32 reciprocal (torch). The
// two differ only at ties and near-ties; which one applies depends on the platform.
enum class QuantizeBy : std::uint8_t { kReciprocal, kDivision };

// What a user asks for; QScheme checks it.
struct QSchemeSpec {
  Format format = Format::kInt;
  int bits = 8;  // 1 to 16; what was asked for, never recovered from the number of levels
  bool is_signed = true;
  bool symmetric = true;  // zero point 0
  Granularity granularity = Granularity::kTensor;
  int axis = 0;                     // of channels or groups, else 0; negative counts from the end
  std::int64_t group = 0;           // elements that share one scale along the axis
  bool narrow = false;              // drops the most negative code: -127..127
  bool power_of_two_scale = false;  // scales are rounded to 2^k
  bool operator==(const QSchemeSpec&) const = default;
};

class QScheme {
 public:
  QScheme() = default;  // int8 symmetric tensor
  explicit QScheme(const QSchemeSpec& spec);
  // "int8 symmetric channel:0 narrow pot", "uint4 affine group:1:32", "e4m3fn tensor": what text() writes.
  static QScheme parse(const std::string& text);
  std::string text() const;

  Format format() const { return spec_.format; }
  int bits() const { return spec_.bits; }
  bool is_signed() const { return spec_.is_signed; }
  bool symmetric() const { return spec_.symmetric; }
  Granularity granularity() const { return spec_.granularity; }
  bool per_tensor() const { return spec_.granularity == Granularity::kTensor; }
  int axis() const { return spec_.axis; }
  std::int64_t group() const { return spec_.group; }
  bool narrow() const { return spec_.narrow; }
  bool power_of_two_scale() const { return spec_.power_of_two_scale; }
  const QSchemeSpec& spec() const { return spec_; }

  bool is_int() const { return spec_.format == Format::kInt; }
  int qmin() const;  // least code, docs/numerics.md 2; integer formats only
  int qmax() const;  // greatest code
  int levels() const { return qmax() - qmin() + 1; }
  float largest() const;  // greatest magnitude of a code: qmax, or 448 for e4m3fn

  // The axis for a tensor of this rank, counted from the front; throws if the tensor has no such axis.
  int axis_of(int rank) const;
  // Shape of the scales of a tensor of these sizes: {} per tensor, {C} per channel; per group the sizes with
  // the axis divided by the group, as ONNX's blocked quantization has it. Throws if the sizes do not fit.
  std::vector<std::int64_t> scale_shape(const std::vector<std::int64_t>& sizes) const;

  bool operator==(const QScheme&) const = default;

 private:
  QSchemeSpec spec_;
};

// One entry per scale, in the order of scale_shape().
struct QParams {
  std::vector<float> scale;
  std::vector<std::int32_t> zero_point;
  bool operator==(const QParams&) const = default;
};

// The one scale rule: docs/numerics.md 3. From observer to training, export and integer execution, every scale that
// is not learned comes from here. Throws if a range was never observed, is not finite, or has no finite scale.
QParams qparams_of_range(const QScheme& scheme, const std::vector<float>& min, const std::vector<float>& max);
// Applies the rest of the rule to a scale >= 0 from elsewhere (LSQ's rule, a search): the floor, the power of two,
// then the zero point from `min`.
QParams qparams_of_scale(const QScheme& scheme, const std::vector<float>& scale, const std::vector<float>& min);

const char* name_of(Role role);  // "weight", "activation", "bias"
Role role_from_name(const std::string& name);
const char* name_of(QuantizeBy by);  // "reciprocal", "division"
QuantizeBy quantize_by_from_name(const std::string& name);

}  // namespace quench
