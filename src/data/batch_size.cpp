#include "data/batch_size.h"

#include <ATen/ATen.h>

#include "quench/error.h"

namespace quench {

const Value& only_input(const Graph& graph, const char* who) {
  QUENCH_CHECK(graph.inputs().size() == 1, who, " feeds one input, but the model has ", graph.inputs().size());
  QUENCH_CHECK(!graph.outputs().empty(), "the model has no output");
  return *graph.inputs()[0];
}

std::int64_t fixed_batch(const Value& input) {
  if (!input.has_rank() || input.rank() == 0 || !input.dims()[0].is_number()) return -1;
  return input.dims()[0].number();
}

std::int64_t choose_batch(const Value& input, std::int64_t asked) {
  const std::int64_t fixed = fixed_batch(input);
  QUENCH_CHECK(asked >= 0, "the batch size must be at least 1, not ", asked);
  QUENCH_CHECK(fixed <= 0 || asked == 0 || asked == fixed, "the model's batch dimension is fixed at ", fixed,
               "; a batch of ", asked, " cannot be fed (leave the batch size out)");
  if (fixed > 0) return fixed;
  return asked > 0 ? asked : kDefaultBatch;
}

at::Tensor fill_up(const Value& input, const at::Tensor& items, std::int64_t batch) {
  return fixed_batch(input) > 0 ? fill_to(items, batch) : items;
}

at::Tensor fill_to(const at::Tensor& items, std::int64_t batch) {
  const std::int64_t missing = batch - items.size(0);
  if (missing <= 0) return items;
  std::vector<std::int64_t> repeats(static_cast<std::size_t>(items.dim()), 1);
  repeats[0] = missing;
  return at::cat({items, items.narrow(0, items.size(0) - 1, 1).repeat(repeats)});
}

}  // namespace quench
