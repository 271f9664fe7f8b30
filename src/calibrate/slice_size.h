// How many items go through a network at once by default. It depends only on the model, the shape and number of its
// items and the kind of device, so that what calibration finds does not depend on a batch size.
#pragma once

#include <string>

#include "quench/data.h"
#include "quench/graph.h"

namespace quench {

// As many as fit easily in memory. `graph` without quantizers. 1 to 32 (128 on a GPU), a power of two; or the model's
// batch where that is fixed.
std::int64_t slice_size(const Graph& graph, const Dataset& data, const std::string& device = "cpu");

// Fewer where each thread has a slice of its own, in the engine: of activations as many bytes as the weights have, at
// least 4 MiB, so that they stay in the cache while reading the weights does not decide. What would be a single slice
// becomes about four.
std::int64_t slice_of_thread(const Graph& graph, const Dataset& data);
// Whether such a slice is small enough for every thread to have one: a fixed batch may not be.
bool fits_each_thread(const Graph& graph, const Dataset& data);

}  // namespace quench
