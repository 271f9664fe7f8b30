// A small network with something of everything that the mmrazor and torch platforms tell apart, and plans as text.
#pragma once

#include "quench/op.h"
#include "quench/platform.h"
#include "support/describe.h"

namespace quench {

// conv1 -> Relu6 -> MaxPool -> conv2 -> + (with what the pool gave) -> Relu -> average -> Flatten -> fc
inline Graph small_graph() {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[1, 2, 2, 2]
    const %zero : float[] = {0.0}
    const %six : float[] = {6.0}
    const %conv1.weight : float[2, 2, 1, 1] = {1.0, 2.0, 3.0, 4.0}
    const %conv2.weight : float[2, 2, 1, 1] = {1.0, 2.0, 3.0, 4.0}
    const %fc.weight : float[2, 2] = {1.0, 2.0, 3.0, 4.0}
    %conv1 = Conv "conv1" (%x, %conv1.weight)
    %relu6 = Clip "relu6" (%conv1, %zero, %six)
    %pool = MaxPool "pool" (%relu6) {kernel_shape = ints[2, 2]}
    %conv2 = Conv "conv2" (%pool, %conv2.weight)
    %sum = Add "sum" (%conv2, %pool)
    %relu = Relu "relu" (%sum)
    %mean = GlobalAveragePool "mean" (%relu)
    %flat = Flatten "flat" (%mean)
    %fc = Gemm "fc" (%flat, %fc.weight)
    output %fc
  })");
  infer_shapes(graph);
  return graph;
}

// "x conv1 relu6=conv1 ...": activations in order of the plan, those that share with their leader.
inline std::string quantized_values(const QuantPlan& plan) {
  std::string text;
  for (const PlanEntry& entry : plan.entries)
    if (entry.role == Role::kActivation)
      text += (text.empty() ? "" : " ") + entry.value + (entry.shared_with.empty() ? "" : "=" + entry.shared_with);
  return text;
}

inline std::string reason_of(const QuantPlan& plan, const std::string& value) {
  for (const PlanSkip& skip : plan.skipped)
    if (skip.value == value) return skip.reason;
  return "";
}

inline QuantConfig config_for(const std::string& platform, bool parity = false) {
  QuantConfig config;
  config.platform = platform;
  config.parity = parity;
  return config;
}

}  // namespace quench
