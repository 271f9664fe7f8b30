// The insertion families that several platforms share: platforms.md 3.
#pragma once

#include "quench/platform.h"

namespace quench {

// Conv, ConvTranspose, Gemm and MatMul with weights, the pools, BatchNormalization, PRelu, Resize, Add, Mul.
const std::set<std::string>& inputs_family_ops();

// Quantizes what listed layers read; a Mul that feeds an Add stays as it is (the target fuses them).
void annotate_inputs(PlanBuilder& plan);

// A (consumer, producer) pair that must stay unquantized in between.
bool is_merged(const PlanBuilder& plan, const Layer& consumer, const Value& value, const std::string& producer_op,
               const std::string& consumer_op);

}  // namespace quench
