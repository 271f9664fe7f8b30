// Shape functions shared by many operators, and the pieces to write others from. A rule fills what it
// knows and leaves the rest unknown; it throws only if the graph is certainly wrong.
#pragma once

#include <optional>
#include <vector>

#include "quench/op.h"

namespace quench {

// Whole rules.
void same_as_input(Node& node);      // output 0 has the type of input 0
void identity_shape(Node& node);     // and the same elements too
void broadcast_inputs(Node& node);   // dtype of input 0, dims broadcast over all inputs
void broadcast_to_bool(Node& node);  // the same, dtype bool
void unknown_shape(Node& node);      // dtype of input 0, rank unknown: data-dependent results

// Pieces.
// Also forgets the output's contents: a rule that knows them sets them afterwards.
// No tensor is longer than that; sums of a few such dims, borders and strides still fit their type.
inline constexpr std::int64_t kLargestDim = std::int64_t{1} << 40;

void set_type(Node& node, int output, DType dtype, std::optional<Dims> dims);
void set_contents(Node& node, std::optional<Dims> contents);  // of output 0, where it is a small integer or bool tensor
DType input_dtype(const Node& node, int slot);                // kUndefined when absent
std::optional<Dims> input_dims(const Node& node, int slot);   // nothing when absent or of unknown rank
std::optional<Dims> input_contents(const Node& node, int slot);  // elements of a small integer tensor, where known
std::optional<std::vector<std::int64_t>> input_integers(const Node& node, int slot);  // the same, all of them numbers
std::optional<std::int64_t> input_integer(const Node& node, int slot);                // of a tensor of one element
// What `rule` makes of the elements of inputs 0 and 1, broadcast; nothing where either is not known.
std::optional<Dims> combine_contents(const Node& node, Dim (*rule)(const Dim&, const Dim&));
std::optional<Dims> broadcast(const Dims& a, const Dims& b, const Node& node);
Dims unknown_dims(std::size_t rank);
// -rank..rank-1 -> 0..rank-1; throws, naming the node, when out of range.
int normalize_axis(std::int64_t axis, int rank, const Node& node);

}  // namespace quench
