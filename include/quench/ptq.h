// Post-training corrections that need no training: cross-layer equalization and bias correction (docs/numerics.md 10).
// Where one looks at no more than some `items` of the data, their content decides which, not their order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quench/calibrate.h"
#include "quench/data.h"
#include "quench/quant_config.h"
#include "quench/quantized_model.h"

namespace quench {

// One pair of layers between which the ranges of the channels were balanced.
struct EqualizedPair {
  std::string first, second;    // layers
  double largest_factor = 1.0;  // how far a channel was scaled
  double spread_before = 1,
         spread_after = 1;  // greatest over least channel range of the first weight, geometric mean with the second's
  std::string clip;         // the ReLU6 between the two; "" if there is none
  std::int64_t held = 0;    // channels that it cuts on the data, which therefore stay as they were

  // What the values from the first layer's output to the second's input were divided by, channel by channel.
  std::vector<double> factors;
  std::vector<std::string> between;
  int axis = 1;  // of the channels in those values
};
struct EqualizeRecord {
  std::vector<EqualizedPair> pairs;
  std::vector<std::string> skipped;  // "conv1: why", for each layer that is not the first of a pair
  int rounds = 0;
  double change = 0.0;  // of what the network computes: the greatest root mean square difference, relative
  double bound = 0.0;   // how much of it float32 rounding explains; a pair beyond that is undone and skipped
};

struct EqualizeOptions {
  int rounds = 20;  // at most; ends when no factor moves by more than `tolerance`
  double tolerance = 1e-3;
  // For pairs with a product or a ReLU6 between them, whose ranges are measured (else skipped), and for the check that
  // the network still computes the same (else on random numbers).
  const Dataset* data = nullptr;
  std::int64_t batch = 0;    // of the data; 0: the model's own where it is fixed, else what memory holds
  std::int64_t items = 128;  // of the data, at most
};

// Conv -> (Relu, MaxPool ...) -> Conv: channel i of the first is divided by c_i, of the second multiplied, so that both
// have the same range; what the network computes stays the same, which is checked. For a float graph with BatchNorm
// folded, before planning. A ReLU6 between the two holds the channels that it cuts on the data, and bounds the factors
// of the others so that it cuts none of them (docs/numerics.md 10.1). A product between the two (a gated feed-forward
// layer) is passed where there is data to measure it.
EqualizeRecord equalize(Graph& graph, const EqualizeOptions& options = {});

// What was done to a tensor that linear layers read.
struct SmoothedTensor {
  std::string value;
  double alpha = 0.0;         // of SmoothQuant; 0: not smoothed, which had the least error
  bool centred = false;       // its channels were shifted, and the biases of its layers took the rest
  std::int64_t outliers = 0;  // channels that are multiplied in float, beside the quantized product
  std::string quantized;      // the value its quantizer now follows: itself, or the result of a Mul on it
  bool product = false;       // a Mul was put after it, since nothing before it could absorb the factors
  // Of the layers that read it: squared error over energy, mean over rows.
  double error_before = 0.0, error_after = 0.0;
  bool changed() const;
};
struct SmoothRecord {
  std::vector<SmoothedTensor> tensors;
  std::vector<std::string> skipped;  // "value: why"
  std::string undone;                // why nothing was smoothed after all; "" otherwise
  bool changed() const;              // whether any tensor was treated
};

struct SmoothOptions {
  std::int64_t items = 32;  // of the data, at most
  std::int64_t rows = 512;  // of each tensor, from all items together
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

// What the graph computes stays the same; what its planned quantizers will see has fewer outliers. For a float graph
// and its plan, before the quantizers are inserted. Tensors that only linear layers read are smoothed where a norm or a
// product with a vector that makes them can absorb the factors, or where adding a product pays (the plan's entry then
// moves after it); others are named.
SmoothRecord smooth(Graph& graph, QuantPlan& plan, const Dataset& data, const SmoothOptions& options = {});

// Gathers what fast bias correction needs of the float network, if calibrate() has it as its watcher.
std::unique_ptr<FloatWatcher> bias_correction_watcher(const QuantizedModel& model);

struct BiasCorrectionOptions {
  BiasCorrection kind = BiasCorrection::kFast;
  std::int64_t batch = 0;  // 0: the model's own where it is fixed, else what memory holds
  std::int64_t items = 0;  // at most this many; 0: all of the data (kFast) or 64 (kSequential, which keeps them all)
  int workers = 1;
  bool skip_broken = false;
  const FloatWatcher* seen = nullptr;  // a bias_correction_watcher that saw all of the data: kFast needs no pass then
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

struct CorrectedLayer {
  std::string layer;
  double largest = 0.0;     // of the corrections, in units of the standard deviation of the layer's output
  double mean_shift = 0.0;  // root mean square of the corrections, in the same units
};
struct BiasCorrectionRecord {
  std::vector<CorrectedLayer> layers;
  std::vector<std::string> skipped;  // "layer: why"
  std::int64_t items = 0;
  double seconds = 0.0;
  bool changed() const;  // whether any bias moved at all
};

// b' = b - (E[y of the quantized layer] - E[y]), per output channel. The model must be calibrated; a layer without a
// bias gets one.
BiasCorrectionRecord correct_biases(QuantizedModel& model, const Dataset& data, const BiasCorrectionOptions& options);

}  // namespace quench
