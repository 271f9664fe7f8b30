// Which operator on codes replaces which one on floats.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quench/graph.h"

namespace quench {

// Codes with what they mean: what a DequantizeLinear reads or a QuantizeLinear gives.
struct CodedValue {
  Value *codes = nullptr, *scale = nullptr, *zero_point = nullptr;
  std::int64_t axis = 0;  // of the scales, where there are several

  DType dtype() const { return codes->dtype(); }
  bool is_per_tensor() const;
};

struct QuantizedOperator {
  std::string op;
  std::vector<Value*> inputs;
  std::map<std::string, Attr> attrs;
};

// What the value was dequantized from, where that is int8 or uint8.
std::optional<CodedValue> coded(const Value* value);

// Makes the constants that it needs. Nothing if the operator has no form on these codes.
using QuantizedRule = std::optional<QuantizedOperator> (*)(Graph& graph, const Node& node, const CodedValue& output);
QuantizedRule quantized_rule(const std::string& op);  // null if there is none

// Of what moves codes, what runtimes have kernels for that take them as they are. Pad is not one of them: its zeros
// would not be the code of zero.
bool runs_on_codes(const Node& node);

}  // namespace quench
