// Changes in the tree of a JSON text, which stays JSON.
#pragma once

#include "fuzz/target.h"

namespace quench {

// A value becomes another number, text or piece of the same tree, or is left out. False if the bytes are not JSON.
bool mutate_json(Bytes& bytes, Random& random);

}  // namespace quench
