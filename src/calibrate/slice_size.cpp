#include "calibrate/slice_size.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "data/batch_size.h"
#include "data/bind_inputs.h"
#include "graph/peak_bytes.h"
#include "graph/tensor_types.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

constexpr std::int64_t kUnknown = 8;
constexpr std::int64_t kSlicesOfFew =
    4;  // of data that would be a single slice: several threads then have something to do

struct Limits {
  std::int64_t items, bytes;  // of what is alive at once; the allocator takes about as much again
};

constexpr std::int64_t kMega = std::int64_t{1} << 20;

// A GPU keeps all that is watched until it is looked at, and has little to do for a few items.
Limits limits_on(const std::string& device) {
  return device == "cpu" ? Limits{32, 64 * kMega} : Limits{128, 512 * kMega};
}

// As the graph's inputs would be for one item.
std::int64_t bytes_of_item(const Graph& graph, const Dataset& data) {
  Graph bound = graph;
  const NamedValues item = first_item(graph, data);
  if (item.empty()) return 0;
  for (const auto& [name, value] : item) {
    Dims dims = dims_of(value.tensor());
    Value& input = bound.value(name);
    if (!is_whole(input, value.tensor().dim())) dims.insert(dims.begin(), 1);
    input.set_type(TypeInfo::tensor(input.dtype(), dims));
  }
  for (const auto& [name, value] : data.shared()) bound.value(name).set_type(value.type());
  try {
    infer_shapes(bound);
  } catch (const Error&) {
    return 0;
  }
  const PeakBytes peak = peak_bytes(bound);
  return peak.unknown > 0 ? 0 : peak.bytes;
}

std::int64_t weight_bytes(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const Value* constant : graph.constants()) bytes += static_cast<std::int64_t>(constant->tensor().nbytes());
  return bytes;
}

std::int64_t size_within(const Limits& limits, const Graph& graph, const Dataset& data) {
  const std::int64_t fixed = fixed_batch(graph, &data);
  if (fixed > 0) return fixed;
  const std::int64_t bytes = bytes_of_item(graph, data);
  if (bytes <= 0) return kUnknown;
  std::int64_t items = limits.items;
  while (items > 1 && (items * bytes > limits.bytes || items / 2 >= data.size())) items /= 2;
  return items;
}

}  // namespace

std::int64_t slice_size(const Graph& graph, const Dataset& data, const std::string& device) {
  return size_within(limits_on(device), graph, data);
}

std::int64_t slice_of_thread(const Graph& graph, const Dataset& data) {
  const Limits limits = limits_on("cpu");
  const std::int64_t bytes = std::clamp(weight_bytes(graph), 4 * kMega, limits.bytes);
  std::int64_t items = size_within({limits.items, bytes}, graph, data);
  const bool is_single = items >= data.size() && fixed_batch(graph, &data) <= 0;
  while (is_single && items > 1 && items * kSlicesOfFew > data.size()) items /= 2;
  return items;
}

bool fits_each_thread(const Graph& graph, const Dataset& data) {
  const std::int64_t bytes = bytes_of_item(graph, data);
  return bytes > 0 && bytes * slice_of_thread(graph, data) <= limits_on("cpu").bytes;
}

}  // namespace quench
