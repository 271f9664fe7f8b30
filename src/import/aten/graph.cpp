#include "import/aten/graph.h"

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
  static const std::string kViews =
      " view view_as view_as_real view_as_complex _unsafe_view reshape reshape_as _reshape_alias flatten unflatten "
      "ravel"
      " t transpose permute numpy_T matrix_H mT mH adjoint swapaxes swapdims moveaxis movedim"
      " slice select narrow diagonal unfold as_strided unbind"
      " chunk split split_with_sizes tensor_split hsplit vsplit dsplit"
      " unsafe_chunk unsafe_split unsafe_split_with_sizes"
      " squeeze unsqueeze atleast_1d atleast_2d atleast_3d expand expand_as broadcast_to"
      " alias detach lift_fresh contiguous to type_as cpu real imag conj _conj resolve_conj resolve_neg positive"
      " dropout feature_dropout alpha_dropout ";
  if (kind.starts_with("aten::")) return kViews.find(" " + kind.substr(6) + " ") != std::string::npos;
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
