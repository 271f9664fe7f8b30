// One tree merged over another, as mmengine does it, and single keys set from the command line.
#pragma once

#include "config/tree.h"

namespace quench {

// Maps merge key by key; anything else replaces. A map with `_delete_: true` replaces as a whole.
void merge(Tree& base, Tree over);

// "a.b.0=c": c is YAML, missing maps are made, a number is a place in a list (its end appends). Throws for what has
// no '=' and where a key leads through a value.
void apply_override(Tree& root, const std::string& text);

}  // namespace quench
