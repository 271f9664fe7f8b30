// What the items of a data set are called in messages.
#pragma once

#include <string>

#include "quench/data.h"

namespace quench {

// "text" for tokens, "image" for pictures (one float tensor of rank 3 with 1 or 3 channels), else "item".
std::string item_noun(const Dataset& data);

}  // namespace quench
