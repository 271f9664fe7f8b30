// Programs of torch.export may write in place ("aten::relu_"). The tensor written to goes by its new value
// from there on; another name of the same memory must not be read after it. This finds such reads.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "import/pt2_program.h"

namespace quench {

class Pt2Aliases {
 public:
  // A parameter, buffer or constant: nothing may write to it.
  void add_state(const std::string& tensor, const std::string& name) { state_[tensor] = name; }

  // For every call in order; `kind` as "aten::relu_". Throws where the result would depend on when a view is read.
  void check(const Pt2Node& node, const std::string& kind, const std::string& where);

 private:
  std::string root_of(const std::string& tensor) const;

  std::map<std::string, std::string> state_;
  std::map<std::string, std::string> roots_;               // view -> the tensor whose memory it is
  std::map<std::string, std::vector<std::string>> views_;  // the other way
  std::set<std::string> stale_;
};

}  // namespace quench
