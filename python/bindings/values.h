// Values of a graph as Python has them: tensors by name.
#pragma once

#include <map>
#include <string>

#include "bindings.h"
#include "quench/executor.h"

namespace quench::python {

using Tensors = std::map<std::string, at::Tensor>;

inline NamedValues values_of(const Tensors& tensors) { return {tensors.begin(), tensors.end()}; }
inline Tensors tensors_of(const NamedValues& values) {
  Tensors tensors;
  for (const auto& [name, value] : values) tensors[name] = value.tensor();
  return tensors;
}

}  // namespace quench::python
