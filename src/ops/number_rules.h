// What shape rules may know about inputs that are read as numbers, beyond their integer elements; and sums of dims.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "quench/graph.h"

namespace quench {

// How many elements a vector (or scalar) has, whatever they are; nothing if that is not known.
std::optional<std::size_t> input_count(const Node& node, int slot);
// The elements where they are known: of a constant of any element type, or integers that were inferred.
std::optional<std::vector<double>> input_numbers(const Node& node, int slot);

// Exact on numbers; a symbol plus zero is itself; else unknown.
Dim add_dims(const Dim& a, const Dim& b);

}  // namespace quench
