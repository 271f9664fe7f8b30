// The calls of a torch.export program as nodes of a graph: every one by the table of aten.h, sizes kept symbolic.
// Its user binds the program's inputs first, reads, and asks for the outputs.
#pragma once

#include <map>
#include <string>

#include "import/aten/aten.h"
#include "import/pt2/aliases.h"
#include "import/pt2/names.h"
#include "import/pt2/program.h"
#include "import/pt2/values.h"
#include "import/trace/names.h"

namespace quench {

class Pt2Calls {
 public:
  Pt2Calls(const Pt2Program& program, Graph& graph)
      : values(program), program_(program), graph_(graph), names_(program) {}

  void read();

  // For those that read a call by themselves (pt2/control.h).
  AtenCall call_of(const Pt2Node& node, const std::string& kind);
  void take_results(const Pt2Node& node, const Values& results);
  // The truth of a comparison of sizes, which nothing computes before it is asked for.
  Value& condition(const std::string& name, const Pt2Node& asked_by);
  Graph& graph() const { return graph_; }

  Pt2Values values;
  LayerNames owners;
  Pt2Aliases aliases;

 private:
  void read(const Pt2Node& node);
  void read_size(const Pt2Node& node);
  void read_numel(const Pt2Node& node);
  void read_item(const Pt2Node& node);
  void read_number(const Pt2Node& node);
  void map(const Pt2Node& node, const std::string& full_kind);
  Values mapped(const Pt2Node& node, AtenCall& call) const;
  Values opaque(const Pt2Node& node, const std::string& name, const Values& inputs);
  void take(const std::string& name, Value* value);
  void rebind(const Pt2Node& node);
  Value& written_into(const Pt2Aliases::Part& part, Value& value);

  const Pt2Program& program_;
  Graph& graph_;
  Pt2Names names_;
  std::map<std::string, const Pt2Node*> conditions_;
};

}  // namespace quench
