// The border of a model whose inputs or outputs are of another floating-point type than it computes in: a Cast stands
// between the two (passes/widen_to_float32.cpp). Stages that treat what enters and leaves a model specially ask here,
// and so see through it.
#pragma once

#include "quench/graph.h"
#include "quench/rt_value.h"

namespace quench {

// float16 and bfloat16.
bool is_narrow_float(DType dtype);

// float32 in the narrow type that an input declares: data comes as float32, whatever the model takes. All else
// unchanged.
RtValue in_type_of(const Value& input, const RtValue& value);

// An input of the model, or what the Cast after one makes of it.
bool is_model_input(const Value& value);
// What is read of an input of the model: itself, and what Casts to other floating-point types make of it.
std::vector<const Value*> values_of_input(const Value& input);

// An output of the model, or what the Cast in front of one reads.
bool is_model_output(const Value& value);
// The value that the model computes for one of its outputs: itself, or what its Cast reads.
const Value& source_of_output(const Value& output);
// Whether nothing but the model's outputs takes the value.
bool leaves_only(const Value& value);

}  // namespace quench
