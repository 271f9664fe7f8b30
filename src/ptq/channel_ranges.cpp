#include "ptq/channel_ranges.h"

#include <ATen/ATen.h>

#include "quench/error.h"
#include "quench/executor.h"

namespace quench {

std::map<std::string, at::Tensor> channel_ranges(const Graph& graph, const std::map<std::string, int>& axes,
                                                 const Dataset& data, std::int64_t batch) {
  std::map<std::string, at::Tensor> ranges;
  Executor executor(graph);
  for (const auto& [name, axis] : axes)
    executor.on_value(name, [&ranges, channels = axis](const Value& value, RtValue& result) {
      const at::Tensor seen = result.tensor().movedim(channels, 0).flatten(1).abs().amax(1).to(at::kDouble);
      const auto [at, fresh] = ranges.try_emplace(value.name(), seen);
      if (!fresh) at->second = at::maximum(at->second, seen);
      return Next::kContinue;
    });
  LoadOptions load;
  load.batch_size = batch;
  Loader loader(data, load);
  while (const std::optional<Batch> items = loader.next()) executor.run({items->inputs});
  QUENCH_CHECK(ranges.size() == axes.size(), "the data is empty: equalization needs at least one item");
  for (const auto& [name, range] : ranges)
    QUENCH_CHECK(range.isfinite().all().item<bool>(), "'", name, "' is not finite on this data");
  return ranges;
}

}  // namespace quench
