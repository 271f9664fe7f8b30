// A graph of one node, and what upgrading makes of it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "import/upgrade/upgrade.h"
#include "support/describe.h"

namespace quench {

struct OneNode {
  Graph graph;
  Node* node = nullptr;

  // Inputs: x, y, z of float with these dims; the outputs are out, out1, out2 and are the graph's.
  OneNode(const std::string& op, const std::vector<Dims>& dims, std::map<std::string, Attr> attrs, int outputs = 1) {
    std::vector<Value*> inputs;
    for (std::size_t i = 0; i < dims.size(); ++i)
      inputs.push_back(
          &graph.add_input(std::string(1, static_cast<char>("xyzuvw"[i])), TypeInfo::tensor(DType::kFloat, dims[i])));
    finish(op, inputs, std::move(attrs), outputs);
  }
  OneNode(const std::string& op, std::map<std::string, Attr> attrs, int outputs = 1) {
    finish(op, {&graph.add_input("x", TypeInfo::tensor(DType::kFloat))}, std::move(attrs), outputs);
  }

  std::string upgraded_from(std::int64_t opset) {
    upgrade_graph(graph, {{"", opset}});
    return describe(graph);
  }

 private:
  void finish(const std::string& op, const std::vector<Value*>& inputs, std::map<std::string, Attr> attrs,
              int outputs) {
    std::vector<std::string> names{"out"};
    for (int i = 1; i < outputs; ++i) names.push_back(concat("out", i));
    node = &graph.add(op, "n", inputs, names);
    node->attrs = std::move(attrs);
    for (Value* output : node->outputs()) graph.add_output(*output);
  }
};

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<double>;
inline Attr integer(std::int64_t value) { return value; }

}  // namespace quench
