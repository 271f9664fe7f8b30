// Multiply-accumulates of operators (OpTraits::macs) that share a rule.
#pragma once

#include "quench/op.h"

namespace quench {

std::int64_t product_macs(const Node& node);    // Gemm, MatMul: elements of the result times a row of the left factor
std::int64_t recurrent_macs(const Node& node);  // LSTM: all its weights, for each step of each item
std::int64_t unknown_macs(const Node& node);    // it has work, but nobody counts it

inline OpTraits with_macs(std::int64_t (*macs)(const Node&)) {
  OpTraits traits;
  traits.macs = macs;
  return traits;
}

}  // namespace quench
