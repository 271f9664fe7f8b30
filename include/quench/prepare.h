// From a float graph to one with quantizers, and the switches of those: the calls that MQBench users know.
#pragma once

#include <optional>
#include <string>

#include "quench/executor.h"
#include "quench/quant_config.h"
#include "quench/quantized_model.h"

namespace quench {

enum class NormMode : std::uint8_t {
  kFold,    // BatchNormalization goes into the weights: post-training
  kLive,    // stays, and the quantizer sees the weight as it will be folded: training (docs/numerics.md 8.2)
  kFrozen,  // as kLive, with its statistics frozen
};

struct PrepareOptions {
  NormMode norm = NormMode::kFold;
  std::optional<QuantPlan> plan;  // instead of the platform's own
};

// The passes that every platform wants before planning: shapes, constants, dropout and identities gone, BatchNorm
// folded or left, MatMul with a bias made a Gemm.
void fuse_for_quantizing(Graph& graph, const QuantConfig& config, NormMode norm);

// Fuses, plans, inserts. The graph given stays as it is.
QuantizedModel prepare(const Graph& graph, const QuantConfig& config, const PrepareOptions& options = {});
QuantizedModel prepare_by_platform(const Graph& graph, const std::string& platform, QuantConfig config = {},
                                   const PrepareOptions& options = {});

// Puts the quantizers of the plan into a copy of the graph, both flags off. Throws if a value does not exist, naming
// the entry.
QuantizedModel insert_quantizers(const Graph& graph, const QuantPlan& plan);

// For a model whose norms stay while it trains (NormMode::kLive, kFrozen): its weight quantizers see the weights as
// they will be folded. Nothing happens where the platform quantizes them as they are.
void make_norms_live(QuantizedModel& model, const QuantConfig& config);

// Calibration by the caller's own loop, with MQBench's verbs:
//   enable_calibration(model);
//   for (batch : data) forward(model, {batch});
//   enable_quantization(model);          // every quantizer takes over what its observer saw: the model is calibrated
// Weights are seen at once, without data.
void enable_calibration(QuantizedModel& model);
void enable_calibration_woquantization(QuantizedModel& model, Role role);  // the others' flags are off
void enable_calibration_quantization(QuantizedModel& model, Role role);    // observes and quantizes at once
// With both flags of a role on, activations go on following their observers on every forward; weights were seen once
// and keep the scale that they have.
void enable_quantization(QuantizedModel& model, bool weight_cali_on = false, bool act_cali_on = false);
void enable_all(QuantizedModel& model);   // all observe and quantize at once
void disable_all(QuantizedModel& model);  // the float network; observers keep what they saw
std::vector<RtValue> forward(QuantizedModel& model, const std::vector<RtValue>& inputs);

}  // namespace quench
