#include "import/aten_graph.h"

#include <set>

namespace quench {

std::string plain_kind(const std::string& kind) {
  if (!kind.starts_with("aten::")) return kind;
  std::string plain = kind.substr(6);
  if (plain.ends_with("_") && !plain.ends_with("__")) plain.pop_back();
  return plain;
}

bool is_in_place_kind(const std::string& kind) {
  return kind.starts_with("aten::") && kind.ends_with("_") && !kind.ends_with("__");
}

bool is_view_kind(const std::string& kind) {
  static const std::set<std::string> kViews = {"view",      "view_as",         "unflatten",     "t",
                                               "transpose", "permute",         "slice",         "select",
                                               "narrow",    "squeeze",         "unsqueeze",     "expand",
                                               "expand_as", "alias",           "detach",        "chunk",
                                               "split",     "unbind",          "movedim",       "split_with_sizes",
                                               "dropout",   "feature_dropout", "alpha_dropout", "diagonal"};
  if (kind.starts_with("aten::")) return kViews.contains(kind.substr(6));
  return kind == "quench::quant_stub" || kind == "quench::dequant_stub" || kind == "prim::ListUnpack";
}

void add_graph_output(Graph& graph, Value& value) {
  Value* output = &value;
  if (!value.producer() || value.is_graph_output()) {
    output = &graph.add("Identity", graph.unique_name("output"), {&value}).output();
    output->set_type(value.type());
  }
  graph.add_output(*output);
}

void remove_unused(Graph& graph) {
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  for (auto at = nodes.rbegin(); at != nodes.rend(); ++at) {
    bool used = false;
    for (const Value* output : (*at)->outputs())
      used = used || (output && (!output->uses().empty() || output->is_graph_output()));
    if (!used) graph.erase(**at);
  }
  for (Value* constant : graph.constants())
    if (constant->uses().empty() && !constant->is_graph_output()) graph.erase(*constant);
}

}  // namespace quench
