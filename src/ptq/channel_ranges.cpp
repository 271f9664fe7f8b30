#include "ptq/channel_ranges.h"

#include <ATen/ATen.h>

#include "calibrate/slice_size.h"
#include "data/fed_items.h"
#include "data/feed.h"
#include "quench/error.h"
#include "quench/executor.h"

namespace quench {
namespace {

using Ranges = std::map<std::string, at::Tensor>;

// All dims but that of the channels.
std::vector<std::int64_t> other_dims(const at::Tensor& tensor, int axis) {
  std::vector<std::int64_t> dims;
  for (int dim = 0; dim < tensor.dim(); ++dim)
    if (dim != axis) dims.push_back(dim);
  return dims;
}

void watch(Executor& executor, const std::string& name, int axis, Ranges& ranges) {
  executor.on_value(name, [&ranges, axis](const Value& value, RtValue& result) {
    const at::Tensor& x = result.tensor();
    const std::vector<std::int64_t> dims = other_dims(x, axis);
    const at::Tensor low = x.amin(dims).to(at::kDouble), high = x.amax(dims).to(at::kDouble);
    const auto [at, fresh] = ranges.try_emplace(value.name(), at::stack({low, high}));
    if (!fresh) at->second = at::stack({at::minimum(at->second[0], low), at::maximum(at->second[1], high)});
    return Next::kContinue;
  });
}

void check_finite(const Ranges& ranges) {
  for (const auto& [name, range] : ranges)
    QUENCH_CHECK(range.isfinite().all().item<bool>(), "'", name, "' is not finite on this data");
}

}  // namespace

std::map<std::string, at::Tensor> channel_ranges(const Graph& graph, const Dataset& data,
                                                 const ChannelRangeOptions& options) {
  Ranges ranges;
  Executor executor(graph);
  for (const auto& [name, axis] : options.axes) watch(executor, name, axis, ranges);
  FeedOptions how;
  how.skip_broken = true;  // calibration reports broken items
  how.batch = options.batch;
  how.otherwise = slice_size(graph, data);
  Feed feed(graph, data, how);
  const std::vector<std::string> outputs = output_names(graph);
  for (std::int64_t seen = 0; options.items == 0 || seen < options.items;) {
    const std::optional<Fed> items = feed.next();
    if (!items) break;
    naming_items({&*items, 1}, [&] {
      executor.run(items->inputs, outputs);  // copies that pad a batch change no range
      check_finite(ranges);
    });
    seen += items->items;
  }
  QUENCH_CHECK(ranges.size() == options.axes.size(), "the data is empty: equalization needs at least one item");
  return ranges;
}

}  // namespace quench
