// The layers that a profile walks over: which values each reads and writes in the float graph and in the quantized one.
#pragma once

#include <string>
#include <vector>

#include "quench/quantized_model.h"

namespace quench {

struct ProfileLayer {
  std::string name, op;
  std::vector<std::string> inputs;   // what it reads of the data, before any quantizer
  std::vector<std::string> outputs;  // what later layers or the graph's outputs read
  std::string compared;              // the output that is compared, as the float graph knows it; "": none
  std::string quantized;             // the same after its quantizer, if it has one
  bool stays_float = false;          // has a weight, but no quantizer for it
};

// All of them, in an order in which they can be run one by one. Compared are those that a quantizer touches, and those
// that stay float.
std::vector<ProfileLayer> profile_layers(const Graph& plain, const QuantizedModel& quantized);

}  // namespace quench
