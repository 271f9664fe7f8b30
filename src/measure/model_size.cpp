#include "quench/model_size.h"

#include <algorithm>
#include <optional>

#include "graph/peak_bytes.h"
#include "measure/model_summary.h"

namespace quench {
namespace {

constexpr std::int64_t kByte = 8, kScaleBytes = 4, kZeroPointBytes = 1, kInt32Bytes = 4;

std::optional<std::vector<std::int64_t>> sizes_of(const Value& value) {
  if (!value.has_rank()) return std::nullopt;
  std::vector<std::int64_t> sizes;
  for (const Dim& dim : value.dims()) {
    if (!dim.is_number()) return std::nullopt;
    sizes.push_back(dim.number());
  }
  return sizes;
}

std::int64_t product(const std::vector<std::int64_t>& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

std::int64_t packed(std::int64_t elements, int bits) { return (elements * bits + kByte - 1) / kByte; }

// Of a code in the files that are written: ONNX has integers of 4, 8 and 16 bits.
int stored_bits(int bits) { return bits <= 4 ? 4 : bits <= 8 ? 8 : 16; }

// As the plan stores it; `sizes` are the constant's.
std::int64_t stored_bytes(const PlanEntry& entry, const std::vector<std::int64_t>& sizes) {
  if (!entry.derived_from.empty()) return product(sizes) * kInt32Bytes;
  const std::int64_t scales = product(entry.scheme.scale_shape(sizes));
  return packed(product(sizes), stored_bits(entry.scheme.bits())) +
         scales * (kScaleBytes + (entry.scheme.symmetric() ? 0 : kZeroPointBytes));
}

}  // namespace

WeightSize weight_size(const Graph& graph, const QuantPlan& plan) {
  WeightSize size;
  for (const Value* constant : graph.constants()) {
    const std::vector<std::int64_t> sizes = sizes_of(*constant).value_or(std::vector<std::int64_t>{});
    const std::int64_t elements = product(sizes), bytes = packed(elements, bits_of(constant->dtype()));
    const PlanEntry* entry = plan.find(constant->name());
    size.elements += elements;
    size.float_bytes += bytes;
    size.quantized_bytes += entry ? stored_bytes(*entry, sizes) : bytes;
    size.quantized_elements += entry ? elements : 0;
  }
  return size;
}

ActivationNeed activation_need(const Graph& graph, std::int64_t batch) {
  DimBindings dims;
  for (const Value* input : graph.inputs())
    if (input->has_rank() && input->rank() > 0 && input->dims()[0].is_symbol()) dims[input->dims()[0].symbol()] = batch;
  const Graph bound = bind_dims(graph, dims);
  const PeakBytes peak = peak_bytes(bound);
  return {peak.bytes, peak.unknown};
}

}  // namespace quench
