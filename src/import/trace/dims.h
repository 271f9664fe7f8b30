// Numbers that differ between the traces of one module, explained by the dims that differ: `x.size(0)`
// read in C++ leaves only its number in a trace.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "import/aten/aten.h"
#include "import/trace/trace.h"

namespace quench {

using Numbers = std::vector<std::int64_t>;  // one per trace

class DimExplainer {
 public:
  // `symbols`: types of the first inputs of the traces.
  DimExplainer(const std::vector<Trace>& traces, const std::vector<TypeInfo>& inputs)
      : traces_(traces), inputs_(inputs) {}

  // A number, a symbol or a multiple of one; unknown otherwise.
  Dim dim_of(const Numbers& numbers) const;
  Dims dims_of(int value) const;

  using Lookup = std::function<Value*(int)>;  // the graph's value for a number of the trace; null: none
  // As a dim of a value near node `at` (its own inputs, the graph's inputs, then what was made before), or
  // as a multiple, a part or a shift of one. Nothing when no explanation fits every trace.
  std::optional<AtenInt> explain(const Numbers& numbers, std::size_t at, const Lookup& lookup) const;

 private:
  struct Source {
    int value;
    int axis;
    Numbers sizes;
  };
  std::vector<Source> sources_of(const std::vector<int>& values) const;
  AtenInt expression(const Numbers& numbers, const Source& source, const Lookup& lookup) const;

  const std::vector<Trace>& traces_;
  const std::vector<TypeInfo>& inputs_;
};

}  // namespace quench
