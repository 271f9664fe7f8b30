// convert: a calibrated model becomes integers: weights of one byte, codes between the layers, operators that compute
// on them (docs/numerics.md 11). What has no integer form runs in float between Dequantize and Quantize.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quench/quantized_model.h"

namespace quench {

struct ConvertOptions {
  std::string requantize = {};                        // a rule of docs/numerics.md 11; "": the platform's
  std::optional<int> multiplier_bits = std::nullopt;  // of half_up; default: 31
};

struct ConvertRecord {
  struct FloatLayer {
    std::string node, op, reason;
  };
  std::string requantize;             // the rule that was used
  std::int64_t layers = 0;            // operators that compute on codes
  std::int64_t tables = 0;            // functions by table
  std::int64_t moved = 0;             // operators that move codes
  std::vector<FloatLayer> in_float;   // what computes in float
  std::vector<std::string> warnings;  // layers whose int32 accumulator could overflow; running into it is an error
  double largest_accumulator = 0.0;   // of all layers with constant weights, as a share of what int32 holds
};

// Throws if the model is not calibrated, or is converted already.
QuantizedModel convert(const QuantizedModel& model, const ConvertOptions& options = {},
                       ConvertRecord* record = nullptr);

// One line for each node, as PyTorch prints a converted module:
//   (conv1): QuantizedConvReLU2d(3, 16, kernel_size=(3, 3), stride=(1, 1), scale=0.024, zero_point=0)
std::string print_converted(const QuantizedModel& model);

}  // namespace quench
