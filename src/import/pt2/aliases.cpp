#include "import/pt2/aliases.h"

#include "import/aten/graph.h"
#include "quench/error.h"

namespace quench {
namespace {

std::vector<std::string> tensors_of(const std::vector<Pt2Item>& items) {
  std::vector<std::string> names;
  for (const Pt2Item& item : items)
    if (item.kind == Pt2Item::Kind::kTensor) names.push_back(item.text);
  return names;
}

std::vector<std::string> tensors_read(const Pt2Node& node) {
  std::vector<std::string> names;
  for (const auto& [name, arg] : node.inputs)
    for (const std::string& tensor : tensors_of(arg.items)) names.push_back(tensor);
  return names;
}

}  // namespace

void Pt2Aliases::check_read(const std::string& tensor, const std::string& reader) const {
  QUENCH_CHECK(!stale_.contains(tensor), reader,
               " reads a view of a tensor that an in-place operator has changed since; make the change out of place");
}

void Pt2Aliases::check_reads(const Pt2Node& node) const {
  for (const std::string& tensor : tensors_read(node)) check_read(tensor, concat("node '", node.name, "'"));
}

std::string Pt2Aliases::root_of(const std::string& tensor) const {
  const auto at = roots_.find(tensor);
  return at == roots_.end() ? tensor : at->second;
}

std::vector<Pt2Aliases::Part> Pt2Aliases::parts_to_root(const std::string& tensor) const {
  std::vector<Part> parts;
  std::string at = tensor;
  for (auto part = parts_.find(at); part != parts_.end(); part = parts_.find(at)) {
    parts.push_back(part->second);
    at = part->second.whole;
  }
  return at == root_of(tensor) ? parts : std::vector<Part>();
}

// Only what the write can be propagated to stays readable.
void Pt2Aliases::note_write(const std::string& tensor) {
  const std::string root = root_of(tensor);
  std::set<std::string> fresh{tensor};
  for (const Part& part : parts_to_root(tensor)) fresh.insert(part.whole);
  for (const std::string& view : views_[root]) stale_.insert(view);
  stale_.insert(root);
  for (const std::string& name : fresh) stale_.erase(name);
}

void Pt2Aliases::note_results(const Pt2Node& node, const std::string& kind, const std::string& whole) {
  static const std::set<std::string> kSame = {"aten::alias", "aten::detach", "aten::lift_fresh"};
  const bool same = is_in_place_kind(kind) || kSame.contains(kind);
  for (const Pt2Arg& output : node.outputs)
    for (const std::string& tensor : tensors_of(output.items)) {
      roots_[tensor] = root_of(whole);
      views_[roots_[tensor]].push_back(tensor);
      if (same || kind == "aten::slice" || kind == "aten::select") parts_[tensor] = {whole, same ? nullptr : &node};
    }
}

void Pt2Aliases::check(const Pt2Node& node, const std::string& kind, const std::string& where) {
  check_reads(node);
  const std::vector<std::string> inputs = tensors_read(node);
  const bool writes = is_in_place_kind(kind) && kind != "aten::detach_";  // that one changes no element
  if (inputs.empty() || (!writes && kind != "aten::detach_" && !is_view_kind(kind))) return;
  if (writes) {
    const auto state = state_.find(root_of(inputs[0]));
    QUENCH_CHECK(state == state_.end(), where, " writes to '", state->second,
                 "', and a graph keeps no such state; export the module in evaluation mode");
    note_write(inputs[0]);
  }
  note_results(node, kind, inputs[0]);
}

}  // namespace quench
