// Traces of a module -> Graph: walks the first trace, explains what differs in the others, and maps
// every call by the table of aten.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "import/trace/state.h"
#include "import/trace/trace.h"
#include "quench/graph.h"

namespace quench {

struct ModuleRecord {
  std::vector<Trace> traces;     // alike; inputs of each: the module's, then `state`
  std::vector<TypeInfo> inputs;  // with symbols where sizes may change
  std::vector<std::string> input_names;
  std::vector<StateTensor> state;
  std::map<std::int64_t, std::string> leaves;
};

// Throws at the first place where the traces differ in more than sizes and numbers.
void check_alike(const Trace& a, const Trace& b, const std::string& what);

Graph graph_of_traces(const ModuleRecord& record);

}  // namespace quench
