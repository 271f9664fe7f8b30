// Small edits that several passes make.
#pragma once

#include "quench/graph.h"

namespace quench {

// Makes the users of `node`'s first output read `source` instead and erases the node. A graph output
// keeps its name: `source` takes it over. False, and nothing changed, where that cannot be done (the
// source is itself an input, a constant or an output of the graph).
bool bypass(Graph& graph, Node& node, Value& source);

// The only node that uses `value`, when it has exactly one use and is not an output of the graph.
Node* only_user(const Value& value);

// A constant, or what is computed from constants alone (a transposed or normalized weight).
bool is_made_of_constants(const Value& value);

// A layer that a following BatchNormalization can be folded into: Conv, ConvTranspose or a plain Gemm with a bias that
// is a vector, if any.
bool takes_norm(const Node& node);
// A BatchNormalization by given statistics, all four of its tensors constants.
bool is_plain_norm(const Node& node);

// A constant beside `like`, named after it: in its place when `user` alone uses it, else a new one.
Value& replace_constant(Graph& graph, Node& user, int slot, const at::Tensor& tensor, const std::string& fresh_name);

}  // namespace quench
