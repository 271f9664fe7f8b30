#include "ptq/counted_batch.h"

#include <ATen/ATen.h>

#include "data/bind_inputs.h"

namespace quench {
namespace {

Batch last_item(const Batch& batch) {
  Batch last;
  last.shared = batch.shared;
  last.indices = {batch.indices.back()};
  NamedValues inputs;
  for (const auto& [name, value] : batch.inputs.values())
    inputs[name] = RtValue(value.tensor().narrow(0, value.tensor().size(0) - 1, 1), value.dtype());
  last.inputs = inputs;
  return last;
}

}  // namespace

std::vector<CountedBatch> counted(const Graph& graph, const Fed& fed) {
  std::vector<CountedBatch> batches = {{fed.inputs, {}}};
  const std::int64_t copies = fed.rows - fed.items;
  if (copies > 0) batches.push_back({bind_filled(graph, last_item(fed.batch), fed.rows), {-copies, fed.rows}});
  return batches;
}

}  // namespace quench
