// One graph that is being built from traces, the module's or a body's, and what the values of the trace are in it. A
// body sees what lies outside it: that is captured when first asked for.
#pragma once

#include <map>
#include <vector>

#include "import/aten/aten.h"
#include "import/trace/names.h"

namespace quench {

class TraceScope {
 public:
  explicit TraceScope(LayerNames& names) : names_(names) {}
  TraceScope(TraceScope& outer, LayerNames& names) : names_(names), outer_(&outer) {}

  Graph graph;
  std::map<std::size_t, Value*> constants;  // of the graph, by the node of the trace that holds them

  void set(int number, AtenArg arg) { known_[number] = std::move(arg); }
  const AtenArg* find(int number);   // null if it stands for nothing
  const AtenArg& known(int number);  // throws there
  Value* find_tensor(int number);    // null also where it is none

  // Values of the graph around that are further inputs of this one, in order.
  const std::vector<Value*>& captured() const { return captured_; }
  Value& capture(Value& outer);

 private:
  AtenArg from_outside(const AtenArg& arg);

  LayerNames& names_;
  TraceScope* outer_ = nullptr;
  std::map<int, AtenArg> known_;
  std::vector<Value*> captured_;
  std::map<const Value*, Value*> inner_;  // outer -> here
};

}  // namespace quench
