// In-place operators change every tensor that shares memory with theirs. The trace renames the tensor
// itself; a view made before the change must not be read after it. This finds such reads.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "import/trace.h"

namespace quench {

class AliasCheck {
 public:
  explicit AliasCheck(const Trace& trace);

  // For every node in order. Throws when it reads what an earlier in-place operator has changed behind
  // its back, or writes into the module's state (`state_name` of a value: its name, or "").
  void check(std::size_t node, const std::string& where, const std::function<std::string(int)>& state_name);

 private:
  const Trace& trace_;
  std::vector<int> root_;  // of each value: the one whose memory it is
  std::set<int> stale_;
};

}  // namespace quench
