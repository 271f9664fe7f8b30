// The operators of ONNX's own domain that stand for an algorithm's quantizers in N_quantizers.onnx, where vendors'
// tools look for them (MQBench's names), and from which they are read back. Registered under the name of the fake
// quantizer, from its file; an algorithm that is not registered quantizes to a plain grid and is written as "fixed" is.
#pragma once

#include <string>
#include <vector>

#include "quench/registry.h"

namespace quench {

// What follows x: scale, zero point, [the axis, per channel,] the least and the greatest code; scale and zero point,
// the codes being the attributes quant_min and quant_max; or only the greatest magnitude. kLearnedCodes: as
// kCodesAsAttributes, but quant_min and quant_max are two tensors of the algorithm's own, one number each, which lie
// within the codes of the scheme (the attribute `scheme`).
enum class VendorLayout { kCodesAsInputs, kCodesAsAttributes, kMagnitude, kLearnedCodes };

struct VendorOp {
  std::string op;  // "": none
  VendorLayout layout = VendorLayout::kCodesAsInputs;
  std::vector<std::string> options = {};  // of the algorithm: attributes too
};

struct VendorNode {
  static constexpr const char* kKind = "vendor node";
  VendorOp per_tensor, per_channel;
};
using VendorNodeRegistry = Registry<VendorNode>;

}  // namespace quench
