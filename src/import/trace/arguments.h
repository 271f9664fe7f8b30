// What a call in a trace is given: constants (and, where they differ between the traces, the dims that explain them),
// lists, and values that earlier nodes have made.
#pragma once

#include <map>
#include <vector>

#include "import/trace/dims.h"
#include "import/trace/graph.h"
#include "import/trace/scope.h"

namespace quench {

class TraceArguments {
 public:
  TraceArguments(const ModuleRecord& record, const DimExplainer& dims) : record_(record), dims_(dims) {}

  void add_constant(int value, std::size_t node) { constants_[value] = node; }
  void add_list(int value, const std::vector<int>& elements) { lists_[value] = elements; }
  const std::vector<int>* elements_of(int list) const {
    const auto at = lists_.find(list);
    return at == lists_.end() ? nullptr : &at->second;
  }
  const TraceConstant& constant(int value) const { return record_.traces[0].nodes[constants_.at(value)].constant; }

  // The value of that number for the node `at`, as the graph of `scope` has it.
  AtenArg read(TraceScope& scope, int number, std::size_t at) const;

 private:
  AtenArg constant_argument(TraceScope& scope, std::size_t constant, std::size_t at) const;
  AtenArg integer_argument(TraceScope& scope, std::size_t constant, std::size_t at) const;
  AtenArg constant_tensor(TraceScope& scope, const TensorAttr& attr, std::size_t constant) const;
  AtenArg list_argument(TraceScope& scope, const std::vector<int>& elements, std::size_t at) const;

  const ModuleRecord& record_;
  const DimExplainer& dims_;
  std::map<int, std::size_t> constants_;   // value -> its prim::Constant
  std::map<int, std::vector<int>> lists_;  // value -> elements
};

}  // namespace quench
