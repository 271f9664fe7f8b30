#include "data/batch_size.h"

#include <ATen/ATen.h>

#include "data/bind_inputs.h"

namespace quench {
namespace {

// Of all inputs; where one leaves its first dim open, that is the batch.
std::int64_t fixed_by_shapes(const Graph& graph) {
  std::int64_t fixed = -1;
  for (const Value* input : graph.inputs()) {
    if (!input->has_rank() || input->rank() == 0) continue;
    if (first_dim(*input) < 0) return -1;
    if (fixed < 0) fixed = first_dim(*input);
  }
  return fixed;
}

}  // namespace

NamedValues first_item(const Graph& graph, const Dataset& data) {
  for (std::int64_t index = 0; index < data.size(); ++index) {
    Sample sample;
    try {
      sample = data.get(index);
    } catch (const Error&) {
      continue;  // the loader says what is wrong, or skips it
    }
    return name_values(graph, sample.inputs, data);
  }
  return {};
}

std::int64_t first_dim(const Value& input) {
  if (!input.has_rank() || input.rank() == 0 || !input.dims()[0].is_number()) return -1;
  return input.dims()[0].number();
}

Dim batch_dim(const Graph& graph) {
  Dim found;
  for (const Value* input : graph.inputs()) {
    if (!input->has_rank() || input->rank() == 0) continue;
    if (!input->dims()[0].is_number()) return input->dims()[0];
    if (found.is_unknown()) found = input->dims()[0];
  }
  return found;
}

std::int64_t fixed_batch(const Graph& graph, const Dataset* data) {
  if (!data) return fixed_by_shapes(graph);
  std::int64_t fixed = -1;
  const Value* by = nullptr;
  for (const auto& [name, item] : first_item(graph, *data)) {
    const Value& input = graph.value(name);
    const std::int64_t one = is_whole(input, item.tensor().dim()) ? 1 : first_dim(input);
    if (one < 0) continue;
    QUENCH_CHECK(fixed < 0 || fixed == one, "the model's inputs fix different batches: '", name, "' ", one, ", '",
                 by->name(), "' ", fixed, "; where one is the same for all items, say so (shared=NAME; docs/data.md)");
    fixed = one;
    by = &input;
  }
  return fixed;
}

std::int64_t choose_batch(const Graph& graph, const Dataset* data, std::int64_t asked, std::int64_t otherwise) {
  QUENCH_CHECK(!graph.outputs().empty(), "the model has no output");
  QUENCH_CHECK(asked >= 0, "the batch size must be at least 1, not ", asked);
  const std::int64_t fixed = fixed_batch(graph, data);
  QUENCH_CHECK(fixed <= 0 || asked == 0 || asked == fixed, "the model's batch dimension is fixed at ", fixed,
               "; a batch of ", asked, " cannot be fed (omit the batch size)");
  if (fixed > 0) return fixed;
  return asked > 0 ? asked : otherwise;
}

}  // namespace quench
