// Programs of torch.export may write in place ("aten::relu_"). The tensor written to goes by its new value from there
// on, and so do those that it is a slice or an element of, whose new value follows from it; another name of the same
// memory must not be read after it. This finds such reads.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "import/pt2/program.h"

namespace quench {

class Pt2Aliases {
 public:
  // A parameter, buffer or constant: nothing may write to it.
  void add_state(const std::string& tensor, const std::string& name) { state_[tensor] = name; }

  // For every tensor whose elements are read, by a call or as a result. Throws if its contents would depend on when
  // it is read.
  void check_read(const std::string& tensor, const std::string& reader) const;
  void check_reads(const Pt2Node& node) const;

  // For every call of an operator in order; `kind` as "aten::relu_". Throws if it reads or writes what it must not.
  void check(const Pt2Node& node, const std::string& kind, const std::string& where);

  // A tensor whose elements are some of another's: those that `node` reads (a slice or select), or all of them.
  struct Part {
    std::string whole;
    const Pt2Node* node;
  };
  // From the tensor to the one whose memory it is, step by step; empty if some step is of another kind.
  std::vector<Part> parts_to_root(const std::string& tensor) const;

 private:
  std::string root_of(const std::string& tensor) const;
  void note_write(const std::string& tensor);
  void note_results(const Pt2Node& node, const std::string& kind, const std::string& whole);

  std::map<std::string, std::string> state_;
  std::map<std::string, std::string> roots_;               // view -> the tensor whose memory it is
  std::map<std::string, std::vector<std::string>> views_;  // the other way
  std::map<std::string, Part> parts_;
  std::set<std::string> stale_;
};

}  // namespace quench
