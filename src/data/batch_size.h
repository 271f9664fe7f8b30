// How many items a model takes at once: what its inputs say, what was asked for, or the default.
#pragma once

#include <cstdint>

#include "quench/data.h"
#include "quench/graph.h"

namespace quench {

constexpr std::int64_t kDefaultBatch = 32;

// The first item that can be read, by the names of the inputs, without what is shared or fed back; empty if none
// can.
NamedValues first_item(const Graph& graph, const Dataset& data);

// The first dim of an input where it is a number, else -1.
std::int64_t first_dim(const Value& input);

// The dim that counts items: the first of an input that leaves it open, else of the first input that has one.
Dim batch_dim(const Graph& graph);

// The batch that the graph's inputs fix, or -1 if they take any. With data, one where an item is a whole input
// (which has no axis for a batch), and inputs that are the same for all items do not count.
std::int64_t fixed_batch(const Graph& graph, const Dataset* data = nullptr);

// What was asked for; 0: the graph's own where it is fixed, else `otherwise`. Throws if it is fixed at another.
std::int64_t choose_batch(const Graph& graph, const Dataset* data, std::int64_t asked,
                          std::int64_t otherwise = kDefaultBatch);

}  // namespace quench
