// Edits that rewriting stages (upgrading, lowering) have in common: constants named after a node, inputs
// that come and go, a node inserted after an output without changing its name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quench/graph.h"

namespace quench {

// A new constant named after the node ("conv1_axes"; numbered when that is taken).
Value& add_integers(Graph& graph, const Node& node, const std::string& suffix, const std::vector<std::int64_t>& values);
Value& add_scalar(Graph& graph, const Node& node, const std::string& suffix, double value, DType dtype);

// Sets an input that may lie past the end: those in between are absent.
void set_optional_input(Graph& graph, Node& node, int slot, Value* value);
void drop_input(Graph& graph, Node& node, int slot);  // makes it absent, and ends the list at the last present one

// Puts a node after `node` that takes the output's name, type and users; `node` makes a fresh value
// for it. `op` gets that value, then `others`.
Node& insert_behind(Graph& graph, Node& node, int output, const std::string& op, const std::vector<Value*>& others);

// Gives the input `axes` of length 1: a constant that only this node uses is reshaped in place.
void unsqueeze_input(Graph& graph, Node& node, int slot, const std::vector<std::int64_t>& axes);

}  // namespace quench
