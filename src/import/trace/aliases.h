// In-place operators change every tensor that shares memory with theirs. The trace renames the tensor
// itself; a view made before the change must not be read after it. This finds such reads.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "import/trace/trace.h"

namespace quench {

class AliasCheck {
 public:
  explicit AliasCheck(const Trace& trace);

  // For every node in order. Throws when it reads what an earlier in-place operator has changed behind
  // its back, or writes into the module's state (`state_name` of a value: its name, or "").
  void check(std::size_t node, const std::string& where, const std::function<std::string(int)>& state_name);
  void check_reads(const std::vector<int>& values, const std::string& where) const;

  // Around the sides of a branch, which do not see each other's changes.
  void enter_then() { kept_.push_back(stale_); }
  void enter_else() { std::swap(stale_, kept_.back()); }
  void leave_else();
  // After the body of a loop: its next turn must not read what this one has changed either.
  void leave_loop(const TraceBlock& body);

 private:
  using Roots = std::set<int>;
  bool may_share(const TraceNode& node) const;
  void find_roots(std::size_t begin, std::size_t end);
  void find_roots_of_loop(const TraceNode& loop);
  Roots& roots(int value) { return roots_[static_cast<std::size_t>(value)]; }
  void write(const TraceNode& node);
  void check_again(const TraceBlock& block);

  const Trace& trace_;
  std::vector<Roots> roots_;  // of each value: those whose memory it may be
  std::set<int> stale_;
  std::vector<std::set<int>> kept_;
};

}  // namespace quench
