// Config files, each applied over those that its `_base_` names.
#pragma once

#include "config/tree.h"

namespace quench {

// Throws if a file cannot be read, inherits from itself, or is a Python config.
Tree load_tree(const std::string& path);
Tree load_tree_of_text(const std::string& text, const std::string& name);  // bases are looked for beside `name`

}  // namespace quench
