// Under which operators of ONNX's own domain an algorithm's quantizers stand in N.onnx, where vendors' tools look for
// them (MQBench's names), and are read back. Registered under the name of the fake quantizer, from its file; an
// algorithm that is not there quantizes to a plain grid and stands as "fixed" does.
#pragma once

#include <string>
#include <vector>

#include "quench/registry.h"

namespace quench {

// What follows x: scale, zero point, [the axis, per channel,] the least and the greatest code; scale and zero point,
// the codes being the attributes quant_min and quant_max; or only the greatest magnitude.
enum class VendorLayout { kCodesAsInputs, kCodesAsAttributes, kMagnitude };

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
