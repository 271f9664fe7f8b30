// A float32 network in another floating-point type, as converters make it: weights rounded, inputs and outputs too.
#pragma once

#include <ATen/ATen.h>

#include "graph/tensor_types.h"
#include "quench/graph.h"
#include "quench/op.h"

namespace quench {

inline Graph narrowed(const Graph& wide, DType dtype) {
  Graph graph(wide);
  for (Value* input : graph.inputs()) {
    TypeInfo type = input->type();
    if (type.dtype == DType::kFloat) type.dtype = dtype;
    input->set_type(type);
  }
  for (Value* constant : graph.constants())
    if (constant->dtype() == DType::kFloat)
      graph.set_tensor(*constant, constant->tensor().to(scalar_type_of(dtype)), dtype);
  infer_shapes(graph);
  return graph;
}

}  // namespace quench
