// "1 image", "2 images".
#pragma once

#include <cstdint>
#include <string>

namespace quench {

// `noun` in the singular; its plural has an s, unless it is given.
std::string counted(std::int64_t number, const std::string& noun, const std::string& plural = "");

}  // namespace quench
