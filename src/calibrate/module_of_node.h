// Which submodule wrote a value. A trace knows modules by their tensors alone; those without any (QuantStub,
// FloatFunctional, Hardswish) are found by where they stand: beside, or above, the layer that they read last.
#pragma once

#include <map>
#include <set>

#include "quench/graph.h"
#include "quench/qconfig.h"

namespace quench {

class ModuleOfNode {
 public:
  ModuleOfNode(std::vector<ModuleInfo> modules, const Graph& graph);

  void name(const Node& layer, const std::string& module);  // one with a weight
  // "" if it cannot be told. Nodes are asked in order of the graph, since of two such modules in one place the earlier
  // is the one that was registered first.
  std::string of(const Node& node);
  std::string type_of(const std::string& module) const;  // "" if there is no such module
  // Once all nodes were asked: neither is a module of its type and place left over, nor did a node find none there (a
  // sum that no FloatFunctional wrote); either could mean that others are one off.
  bool is_certain(const std::string& module) const;

 private:
  struct Unplaced {
    std::string type, beside;  // of the module that was looked for; the layer that it should stand beside
  };
  const Node* last_read(const Node& node) const;
  std::string beside(const Node& layer, const std::string& type);

  std::vector<ModuleInfo> modules_;
  std::map<const Node*, std::size_t> order_;
  std::map<const Node*, std::string> known_;
  std::set<std::string> taken_;
  std::vector<Unplaced> unplaced_;
};

// The submodules without tensors of which there is no doubt which node between the stubs is theirs, by its name.
std::map<std::string, std::string> modules_of_nodes(const std::vector<ModuleInfo>& modules, const Graph& graph);

}  // namespace quench
