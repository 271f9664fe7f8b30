// From a float graph to one with quantizers, and the switches of those: the calls that MQBench's users know.
#pragma once

#include <optional>
#include <string>

#include "quench/fake_quant.h"
#include "quench/graph.h"
#include "quench/plan.h"
#include "quench/quant_config.h"

namespace quench {

enum class NormMode : std::uint8_t {
  kFold,    // BatchNormalization goes into the weights: post-training
  kLive,    // stays, and the quantizer sees the weight as it will be folded: training (docs/numerics.md 8.2)
  kFrozen,  // as kLive, with its statistics frozen
};

struct PrepareOptions {
  NormMode norm = NormMode::kFold;
  std::optional<QuantPlan> plan;  // in place of the platform's own
};

struct Prepared {
  Graph graph;  // quantizers in place, both flags off
  QuantPlan plan;
};

// The passes that every platform wants before planning: shapes, constants, dropout and identities gone, BatchNorm
// folded or left, MatMul with a bias made a Gemm.
void fuse_for_quantizing(Graph& graph, const QuantConfig& config, NormMode norm);

// Fuses, plans, inserts. The graph given stays as it is.
Prepared prepare(const Graph& graph, const QuantConfig& config, const PrepareOptions& options = {});
Prepared prepare_by_platform(const Graph& graph, const std::string& platform, QuantConfig config = {},
                             const PrepareOptions& options = {});

// Both flags of every quantizer of a role (or of all); biases in int32 go with the weights. How many were set.
int set_state(Graph& graph, std::optional<Role> role, QuantFlags flags);

// MQBench's state switches, each a line over set_state.
void enable_calibration(Graph& graph);
void enable_quantization(Graph& graph, bool weight_cali_on = false, bool act_cali_on = false);
void enable_calibration_woquantization(Graph& graph, Role role);
void enable_calibration_quantization(Graph& graph, Role role);
void disable_all(Graph& graph);
void enable_all(Graph& graph);

}  // namespace quench
