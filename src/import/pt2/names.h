// Names for the nodes of a torch.export program, from the modules that each call was made in.
#pragma once

#include <map>
#include <string>

#include "import/pt2/program.h"

namespace quench {

// "L__self__,,Net;L__self__features.0,features.0,torch.nn.Conv2d" -> "features.0"; "" for the outermost.
std::string innermost_module(const std::string& stack);

class Pt2Names {
 public:
  explicit Pt2Names(const Pt2Program& program);

  // A call that is alone in its module is named after the module ("features.0"); a layer after the module of
  // its weight (`owner`; "attention.out_proj"); any other after module and operator ("block.add").
  std::string name_of(const Pt2Node& node, const std::string& kind, const std::string& owner) const;

 private:
  std::map<std::string, int> calls_;  // in each call of a module
};

}  // namespace quench
