// mobilenet_v2(pretrained, quantize) of torchvision.models.quantization, by its own name. Other networks:
// make_quantizable_model (quench/zoo.h) and make_quantized_model (quench/load_quantized.h).
#pragma once

#include <memory>
#include <string>

#include "quench/convert.h"
#include "quench/load_quantized.h"

namespace quench::zoo {

struct Quantized {};
inline constexpr Quantized quantized;

// The quantizable network in training mode, with the weights of a float state dict ("": fresh ones).
inline std::shared_ptr<ZooNet> mobilenet_v2(const std::string& weights = "", const ZooOptions& options = {}) {
  return make_quantizable_model("mobilenet_v2", weights, options);
}

// quantize=True: integers, with the weights of a state dict converted for qnnpack ("": fresh ones, calibrated on
// noise).
//   zoo::mobilenet_v2("mobilenet_v2_qnnpack.pth", zoo::quantized).run({image})
inline QuantizedModel mobilenet_v2(const std::string& weights, Quantized, const ZooOptions& options = {}) {
  return convert(make_quantized_model("mobilenet_v2", weights, "qnnpack", options));
}

}  // namespace quench::zoo
