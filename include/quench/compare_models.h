// Two models on the same data, tensor by tensor: any two of a float network, its simulation with quantizers, its
// converted form in integers, and a deployed file in a real runtime (compare_with_runtime in quench/verify.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quench/data.h"
#include "quench/executor.h"
#include "quench/graph.h"

namespace quench {

struct CompareOptions {
  std::int64_t batch = 0;  // 0: the models' own where it is fixed, else 8, or 32 if another process runs one of them
  int workers = 1;
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

// Of a tensor that both models have: what B gives less what A gives.
struct ValueDifference {
  std::string name;   // as in the float model
  double step = 0.0;  // of its codes; of one that neither quantizes, 1/255 of its range in A
  bool quantized = false;
  std::int64_t elements = 0;
  std::int64_t different = 0;        // those that are more than half a step apart: another code
  double largest = 0.0, mean = 0.0;  // in steps
  double share() const { return elements == 0 ? 0.0 : static_cast<double>(different) / static_cast<double>(elements); }
};

struct ModelComparison {
  std::int64_t items = 0;
  std::vector<ValueDifference> values;           // in order of A
  std::vector<std::string> only_a, only_b;       // outputs that the other has not
  std::int64_t predictions = 0, equal_top1 = 0;  // of the first output, if it is a matrix
  double largest() const;                        // of all values, in steps
};

// One of the two, where something else than the executor runs it.
struct ComparedModel {
  const Graph& graph;
  std::function<NamedValues(const NamedValues& inputs, const std::vector<std::string>& values)> run = {};
  std::optional<std::set<std::string>> shows = std::nullopt;  // the values that it can give; nothing: all
};

// Values are matched by name; a quantizer's result counts as the value that it quantizes. Throws if the models have
// other inputs, or no value in common.
ModelComparison compare_models(const Graph& a, const Graph& b, const Dataset& data, const CompareOptions& options = {});
ModelComparison compare_models(const ComparedModel& a, const ComparedModel& b, const Dataset& data,
                               const CompareOptions& options = {});

}  // namespace quench
