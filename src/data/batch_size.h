// Batches as a model takes them: evaluation and calibration feed it the same way.
#pragma once

#include <cstdint>

#include "quench/graph.h"

namespace quench {

// The only input of the graph; throws, with what wants it ("evaluation"), where there are more or no output.
const Value& only_input(const Graph& graph, const char* who);

constexpr std::int64_t kDefaultBatch = 32;  // where neither user nor model says

std::int64_t fixed_batch(const Value& input);  // -1 where the model takes any

// What was asked for (0: the model's own where it is fixed, else 32); throws where the model is fixed at another.
std::int64_t choose_batch(const Value& input, std::int64_t asked);

// A model with a fixed batch gets a full last one: its last item repeated.
at::Tensor fill_up(const Value& input, const at::Tensor& items, std::int64_t batch);
at::Tensor fill_to(const at::Tensor& items, std::int64_t batch);  // whatever the model takes

}  // namespace quench
