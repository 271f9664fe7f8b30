// From accumulators to codes: y_q = clamp(round(M * acc) + z_y, n, p). How M is stored and how ties are rounded
// depends on the target; each rule below is what one family of runtimes does. docs/numerics.md 11.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quant/reference.h"

namespace quench {

enum class Requantize : std::uint8_t {
  kMlas,       // rint(float(acc) * float(float(s_x * s_w) / s_y)) + z, all float32: ONNX Runtime, XNNPACK
  kMlasPlain,  // as mlas, but without fused multiply-adds: ONNX Runtime in WebAssembly
  kTflite,     // Q31: rounding doubling high multiply, then a rounding shift: LiteRT's reference kernels
  kHalfUp,     // one 64-bit product, one rounding shift, ties up: Qualcomm HTP (with a multiplier of few bits)
  kAway,       // float32 product as mlas, ties away from zero, codes not below -p: ncnn, MNN
  kAffine,     // float32, the zero point added before the rounding (so an odd one turns the ties): OpenVINO
  kFloat,      // the real value rounded to float32, then divided by s_y: dequantize, compute in float, quantize
  kFbgemm,  // products as mlas; sums of codes dequantized, added and multiplied by float32(1 / s_y): PyTorch's FBGEMM
  kQnnpack  // as mlas, but M by the reciprocal of s_y; Add by multipliers of 22 bits, ties away from zero: PyTorch's
            // QNNPACK
};
bool is_mlas(Requantize rule);         // with or without fused multiply-adds
const char* name_of(Requantize rule);  // "mlas", "mlas_plain", "tflite", "half_up", "away", "affine", "float" ...
Requantize requantize_from_name(const std::string& name);

struct Arithmetic {
  Requantize rule = Requantize::kMlas;
  int multiplier_bits = 31;  // of kHalfUp
};

// A multiplier M = mantissa * 2^-shift; mantissa in [2^(bits-1), 2^bits), or 0 where M < 2^-32.
struct FixedPoint {
  std::int32_t mantissa = 0;
  int shift = 0;
};
FixedPoint fixed_point(double multiplier, int bits = 31);
// The two rounding steps of kTflite; `multiplier` has 31 bits. A left shift saturates.
std::int32_t multiply_tflite(std::int64_t value, const FixedPoint& multiplier);
// value * 2^-shift, one rounding, ties up.
std::int64_t shift_half_up(std::int64_t value, int shift);

// Real numbers between which the result is clipped; Relu is {0, inf}.
struct Clip {
  float min = -__builtin_inff(), max = __builtin_inff();
};

// The codes of a result: its step, and the bounds that are left of them after clipping.
struct OutputCodes {
  float scale = 1.0F;
  std::int32_t zero_point = 0, low = -128, high = 127;

  // Of a result that is already in steps: the nearest integer (ties to even, or away) plus z, in bounds.
  std::int32_t nearest(float steps) const;
  std::int32_t nearest_away(float steps) const;
  std::int32_t nearest_shifted(float steps) const;  // z is added before the rounding
  std::int32_t clamp(std::int64_t code) const;
};
// Only per-tensor integer types have one step. Rounding is monotone, so clipping codes is clipping values.
OutputCodes output_codes(const QType& type, const Arithmetic& arithmetic, const Clip& clip = {});

// The step of accumulators: a * b[channel] / count. One entry in b serves every channel.
struct AccumulatorStep {
  float a = 1.0F;
  std::vector<float> b = {1.0F};
  std::int64_t count = 1;
};

// M of a product in float32: the accumulator's step in steps of the result.
float product_multiplier(Requantize rule, float step, float y_scale);

class Requantizer {
 public:
  Requantizer(const Arithmetic& arithmetic, const AccumulatorStep& step, const OutputCodes& y);
  // The accumulator must fit int32: checked before.
  std::int32_t operator()(std::int64_t accumulator, std::size_t channel = 0) const;
  std::size_t channels() const { return multipliers_.size(); }

 private:
  struct Multiplier {
    float single;      // M in float32 steps
    double real;       // the accumulator's own step, for kFloat
    FixedPoint fixed;  // M
  };
  Requantize rule_;
  OutputCodes y_;
  std::vector<Multiplier> multipliers_;
};

}  // namespace quench
