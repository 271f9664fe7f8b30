#include "calibrate/slice_size.h"

#include <ATen/ATen.h>

#include "data/batch_size.h"
#include "graph/peak_bytes.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

constexpr std::int64_t kMost = 32, kUnknown = 8;
constexpr std::int64_t kBudget = std::int64_t{64}
                                 << 20;  // of what is alive at once; the allocator takes about as much again

// Of the first item that can be read; nothing where none can.
std::optional<Dims> item_dims(const Dataset& data) {
  for (std::int64_t index = 0; index < data.size(); ++index) {
    try {
      Dims dims = {1};
      for (const std::int64_t size : data.get(index).input.tensor().sizes()) dims.emplace_back(size);
      return dims;
    } catch (const Error&) {
      continue;  // whether a broken item is an error, who feeds the data decides
    }
  }
  return std::nullopt;
}

std::int64_t bytes_of_item(const Graph& graph, const Dims& dims) {
  Graph bound = graph;
  Value& input = *bound.inputs()[0];
  input.set_type(TypeInfo::tensor(input.dtype(), dims));
  try {
    infer_shapes(bound);
  } catch (const Error&) {
    return 0;
  }
  const PeakBytes peak = peak_bytes(bound);
  return peak.unknown > 0 ? 0 : peak.bytes;
}

}  // namespace

std::int64_t slice_size(const Graph& graph, const Dataset& data) {
  const std::int64_t fixed = fixed_batch(only_input(graph, "calibration"));
  if (fixed > 0) return fixed;
  const std::optional<Dims> dims = item_dims(data);
  const std::int64_t bytes = dims ? bytes_of_item(graph, *dims) : 0;
  if (bytes <= 0) return kUnknown;
  std::int64_t items = kMost;
  while (items > 1 && (items * bytes > kBudget || items / 2 >= data.size())) items /= 2;
  return items;
}

}  // namespace quench
