#include "ptq/counted_batch.h"

#include <ATen/ATen.h>

#include "data/batch_size.h"

namespace quench {

std::vector<CountedBatch> counted(const Value& input, const Batch& batch, std::int64_t size) {
  const at::Tensor items = batch.inputs.tensor(), fed = fill_up(input, items, size);
  std::vector<CountedBatch> batches = {{RtValue(fed, batch.inputs.dtype()), 1.0}};
  const std::int64_t copies = fed.size(0) - items.size(0);
  if (copies > 0) {
    const at::Tensor last = fill_up(input, items.narrow(0, items.size(0) - 1, 1), size);
    batches.push_back(
        {RtValue(last, batch.inputs.dtype()), -static_cast<double>(copies) / static_cast<double>(last.size(0))});
  }
  return batches;
}

}  // namespace quench
