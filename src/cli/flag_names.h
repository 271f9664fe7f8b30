// The library speaks of its options by the names that they have in C++ (VerifyOptions::layers) and in a config (the
// setting equalize=true). On the command line they are flags: one table says which.
#pragma once

#include <string>

namespace quench {

std::string in_flags(std::string text);

}  // namespace quench
