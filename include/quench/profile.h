// Which layers quantization hurts: each layer's output with and without quantizers, on the same data.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "quench/data.h"
#include "quench/quantized_model.h"

namespace quench {

// Of a sample of items: what was found, and its standard error (NaN with a single item).
struct Estimate {
  double value = 0.0, error = 0.0;
};

// docs/numerics.md 13, between what a layer gives in float (x) and quantized (y).
struct TensorError {
  Estimate sqnr;     // 10 log10(sum x^2 / sum (x - y)^2) over all items, in dB; infinite if they are equal
  Estimate cosine;   // signed, mean over items
  Estimate mse;      // mean over items
  double max = 0.0;  // greatest |x - y|
};

// Which of a layer's quantizers does the damage, each by the SQNR of what it adds to the layer's output. Infinite where
// it adds nothing.
struct PartErrors {
  Estimate weight;  // with the bias, and with what was corrected in them
  Estimate input;   // of the activations that it reads
  Estimate output;  // of what it gives
};

struct LayerProfile {
  std::string name, op;       // of the layer's first node
  std::string output;         // the value that is compared, its quantizer included
  TensorError standalone;     // only this layer is quantized: its inputs, weight, bias and output
  TensorError cumulative;     // everything up to and including it is
  PartErrors parts;           // of `standalone`
  bool stays_float = false;   // it has a weight, which is not quantized: what it loses, its neighbours' quantizers do
  std::string worst() const;  // "weight", "input" or "output": the part that adds most; "": nothing is lost
};

// What a value was divided by, channel by channel (equalization).
struct ChannelFactors {
  std::vector<double> factors;
  int axis = 1;
};

struct ProfileOptions {
  std::int64_t batch = 0;  // 0: the model's own where it is fixed, else by memory: 1 to 8
  int workers = 1;
  bool skip_broken = false;
  std::string device = "cpu";
  std::map<std::string, ChannelFactors> scaled;  // values that are smaller in `quantized` than in `reference`
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

struct ProfileRecord {
  std::int64_t items = 0;
  double seconds = 0.0;
  std::vector<LayerProfile> layers;  // in order of the graph; those that a quantizer touches, or that stay float
};

// One walk over the layers per batch: in float, alone and with all before it quantized. At any time only what a later
// layer reads is kept. `quantized` must be calibrated; with its quantizers taken out it is the float network, unless
// `reference` (a float graph with the same values, as before equalization and bias correction) is given.
ProfileRecord profile(const QuantizedModel& quantized, const Dataset& data, const ProfileOptions& options = {},
                      const Graph* reference = nullptr);

// Worst first, by what a layer does alone.
std::vector<LayerProfile> ranked_by_damage(const ProfileRecord& record);

}  // namespace quench
