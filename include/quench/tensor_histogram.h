// Where the values of quantized tensors lie, and which of them their quantizers cut off: what reports draw. Weights
// need the model alone, activations a few items of data.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quench/data.h"
#include "quench/quantized_model.h"

namespace quench {

struct TensorHistogram {
  std::string value;
  Role role = Role::kActivation;
  std::string scheme;
  std::int64_t elements = 0;
  std::int64_t lost = 0;                          // their codes lie beyond the scheme's: they are cut off at its ends
  double min = 0.0, max = 0.0;                    // of the values
  std::vector<std::int64_t> counts, lost_counts;  // in bins of equal width from min to max
  std::vector<float> low, high;                   // what can be represented, one pair per scale
  // Per channel: of each scale, or of the channels of a tensor that has one scale for all (empty if it has none).
  std::vector<float> channel_min, channel_max;
};

// Of all weights, in order of the graph; empty for a model that is not calibrated. What an algorithm really quantizes
// counts (DoReFa: the transformed weight).
std::vector<TensorHistogram> weight_histograms(const QuantizedModel& model);

struct HistogramOptions {
  std::int64_t items = 32;  // at most this many of the data; 0: all
  std::int64_t batch = 0;   // 0: the model's own where it is fixed, else by memory
  int workers = 1;
  bool skip_broken = false;
  std::string device = "cpu";
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

// Of all quantized activations, as the float network computes them. Reads the items twice: ranges first, then counts.
std::vector<TensorHistogram> activation_histograms(const QuantizedModel& model, const Dataset& data,
                                                   const HistogramOptions& options = {});

}  // namespace quench
