// Shape inference through the bodies of If, Loop, Scan and SequenceMap.
#pragma once

#include <vector>

#include "quench/op.h"

namespace quench {

// The narrowest type that holds both: a dim that differs becomes unknown, and so does a rank.
TypeInfo general_type(const TypeInfo& a, const TypeInfo& b);

// What SequenceEmpty made, or a state of a loop that began as such and got no element yet (a sequence type without an
// element type): whatever is put in decides the type of its elements.
bool is_empty_sequence(const Value& value);

// Gives the last body inputs the types (and elements) of the node's captured values.
void set_capture_types(const Node& node, Graph& body);

// The mutable body of a node; throws, naming the node, when there is none.
Graph& body_of(Node& node, const std::string& attr);

// A type with one dim more in front (of the results of each turn, joined) or less.
TypeInfo without_axis(const TypeInfo& type, std::int64_t axis);
TypeInfo with_axis(const TypeInfo& type, std::int64_t axis, const Dim& dim);

}  // namespace quench
