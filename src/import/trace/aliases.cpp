#include "import/trace/aliases.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "import/aten/graph.h"
#include "quench/error.h"

namespace quench {
namespace {

bool meet(const std::set<int>& a, const std::set<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int one) { return b.contains(one); });
}

}  // namespace

AliasCheck::AliasCheck(const Trace& trace) : trace_(trace), roots_(trace.values.size()) {
  for (std::size_t i = 0; i < roots_.size(); ++i) roots_[i] = {static_cast<int>(i)};
  find_roots(0, trace.nodes.size());
}

// Of the kinds that may give a view (to, contiguous), those that change the element type never do.
bool AliasCheck::may_share(const TraceNode& node) const {
  if (is_in_place_kind(node.kind)) return true;
  if (!is_view_kind(node.kind) || node.outputs.empty()) return false;
  const TraceValue &from = trace_.values[static_cast<std::size_t>(node.inputs[0])],
                   &to = trace_.values[static_cast<std::size_t>(node.outputs[0])];
  return node.kind != "aten::to" || from.dtype == to.dtype;
}

void AliasCheck::find_roots(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; i = trace_.nodes[i].end(i)) {
    const TraceNode& node = trace_.nodes[i];
    if (node.kind == "prim::Loop") {
      find_roots_of_loop(node);
    } else if (!node.blocks.empty()) {
      for (const TraceBlock& block : node.blocks) {
        find_roots(block.begin, block.end);
        for (std::size_t k = 0; k < node.outputs.size(); ++k)
          roots(node.outputs[k]).insert(roots(block.outputs[k]).begin(), roots(block.outputs[k]).end());
      }
    } else if (!node.inputs.empty() && may_share(node)) {
      for (const int output : node.outputs) roots(output) = roots(node.inputs[0]);
    }
  }
}

// A state is what it was before the loop, or what a turn has made from it or another.
void AliasCheck::find_roots_of_loop(const TraceNode& loop) {
  const TraceBlock& body = loop.blocks[0];
  for (bool grown = true; grown;) {
    grown = false;
    find_roots(body.begin, body.end);
    for (std::size_t k = 0; k < loop.outputs.size(); ++k) {
      Roots& state = roots(body.inputs[k + 1]);
      const std::size_t before = state.size();
      state.insert(roots(loop.inputs[k + 2]).begin(), roots(loop.inputs[k + 2]).end());
      state.insert(roots(body.outputs[k + 1]).begin(), roots(body.outputs[k + 1]).end());
      grown = grown || state.size() > before;
      roots(loop.outputs[k]).insert(state.begin(), state.end());
    }
  }
}

void AliasCheck::check_reads(const std::vector<int>& values, const std::string& where) const {
  for (const int value : values)
    QUENCH_CHECK(!stale_.contains(value), where,
                 " reads a view of a tensor that an in-place operator has changed since; make the change out of place");
}

void AliasCheck::check(std::size_t index, const std::string& where, const std::function<std::string(int)>& state_name) {
  const TraceNode& node = trace_.nodes[index];
  check_reads(node.inputs, where);
  if (!is_in_place_kind(node.kind)) return;
  for (const int root : roots(node.inputs.at(0))) {
    const std::string owner = state_name(root);
    QUENCH_CHECK(owner.empty(), where, " writes to '", owner,
                 "' in evaluation mode; a graph keeps no state of that kind");
  }
  write(node);
}

// All that shares the memory and was there before is stale, lists of views included.
void AliasCheck::write(const TraceNode& node) {
  const int first_new = node.outputs.empty() ? 0 : node.outputs[0];
  for (int value = 0; value < first_new; ++value)
    if (meet(roots(value), roots(node.inputs[0]))) stale_.insert(value);
}

void AliasCheck::leave_else() {
  stale_.merge(kept_.back());
  kept_.pop_back();
}

void AliasCheck::check_again(const TraceBlock& block) {
  for (std::size_t i = block.begin; i < block.end; i = trace_.nodes[i].end(i)) {
    const TraceNode& node = trace_.nodes[i];
    check_reads(node.inputs, concat("the next turn of a loop: ", node.kind));
    if (node.kind == "prim::If") {
      enter_then();
      check_again(node.blocks[0]);
      enter_else();
      check_again(node.blocks[1]);
      leave_else();
    } else if (node.kind == "prim::Loop") {
      check_again(node.blocks[0]);
    } else if (is_in_place_kind(node.kind)) {
      write(node);
    }
  }
  check_reads(block.outputs, "the next turn of a loop");
}

void AliasCheck::leave_loop(const TraceBlock& body) {
  // The body's own values, numbered from its first input on, are new in every turn.
  stale_.erase(stale_.lower_bound(body.inputs[0]), stale_.end());
  check_again(body);
}

}  // namespace quench
