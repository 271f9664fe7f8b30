// The insertion families that several platforms share: docs/platforms.md 3.
#pragma once

#include "quench/plan_builder.h"
#include "quench/platform.h"

namespace quench {

using OpPair = std::pair<std::string, std::string>;  // producer, consumer

// What a layer of the family reads is quantized, and for some platforms what it writes.
struct FamilyRule {
  std::set<std::string> ops;                                             // whose inputs
  std::vector<OpPair> merges = {{"Mul", "Add"}};                         // the target fuses the two: nothing between
  bool (*skips)(const PlanBuilder& plan, const Layer& layer) = nullptr;  // layers that are left out anyway
  std::set<std::string> passed = {};  // operators following a layer, after which its output is quantized
};

// Conv, ConvTranspose, Gemm and MatMul with weights, the pools, BatchNormalization, PRelu, Resize, Add, Mul.
const std::set<std::string>& inputs_family_ops();

void annotate_inputs(PlanBuilder& plan, const FamilyRule& rule);   // and the weights
void annotate_outputs(PlanBuilder& plan, const FamilyRule& rule);  // of the layers of the rule

// The base list, and Mul in front of Add merged.
void annotate_inputs(PlanBuilder& plan);
// The same and the outputs, after a Relu, Clip(0, 6) or Flatten where one follows: snpe, ppl, stpu.
void annotate_inputs_and_outputs(PlanBuilder& plan);

void quantize_graph_inputs(PlanBuilder& plan);  // whatever reads them

// A (consumer, producer) pair that must stay unquantized in between.
bool is_merged(const PlanBuilder& plan, const Layer& consumer, const Value& value, const std::string& producer_op,
               const std::string& consumer_op);

// "input of Conv 'conv1'": the rule that a plan shows.
std::string rule_text(const std::string& what, const Layer& layer);

}  // namespace quench
