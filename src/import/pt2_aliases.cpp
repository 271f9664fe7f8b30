#include "import/pt2_aliases.h"

#include "import/aten_graph.h"
#include "quench/error.h"

namespace quench {
namespace {

// What is or may be a view of its input. There is no module to compare the graph with, so doubt counts.
bool may_be_view(const std::string& kind) {
  static const std::set<std::string> kMayBe = {
      "aten::reshape", "aten::reshape_as", "aten::flatten", "aten::contiguous", "aten::to",      "aten::type_as",
      "aten::real",    "aten::swapaxes",   "aten::unfold",  "aten::lift_fresh", "aten::detach_", "aten::_unsafe_view"};
  return is_view_kind(kind) || kMayBe.contains(kind);
}

std::vector<std::string> tensors_of(const std::vector<Pt2Item>& items) {
  std::vector<std::string> names;
  for (const Pt2Item& item : items)
    if (item.kind == Pt2Item::Kind::kTensor) names.push_back(item.text);
  return names;
}

}  // namespace

std::string Pt2Aliases::root_of(const std::string& tensor) const {
  const auto at = roots_.find(tensor);
  return at == roots_.end() ? tensor : at->second;
}

void Pt2Aliases::check(const Pt2Node& node, const std::string& kind, const std::string& where) {
  std::vector<std::string> inputs;
  for (const auto& [name, arg] : node.inputs)
    for (const std::string& tensor : tensors_of(arg.items)) inputs.push_back(tensor);
  for (const std::string& input : inputs)
    QUENCH_CHECK(!stale_.contains(input), where,
                 " reads a view of a tensor that an in-place operator has changed since; make the change out of place");
  const bool writes = is_in_place_kind(kind) && kind != "aten::detach_";  // that one changes no element
  if (inputs.empty() || (!writes && !may_be_view(kind))) return;
  const std::string root = root_of(inputs[0]);
  if (writes) {
    const auto state = state_.find(root);
    QUENCH_CHECK(state == state_.end(), where, " writes to '", state->second,
                 "', and a graph keeps no such state; export the module in evaluation mode");
    for (const std::string& view : views_[root]) stale_.insert(view);
    if (root != inputs[0]) stale_.insert(root);
    stale_.erase(inputs[0]);
  }
  for (const Pt2Arg& output : node.outputs)
    for (const std::string& tensor : tensors_of(output.items)) {
      roots_[tensor] = root;
      views_[root].push_back(tensor);
    }
}

}  // namespace quench
