// "1 item", "2 items".
#pragma once

#include <cstdint>
#include <string>

namespace quench {

// `noun` in the singular; its plural has an s, unless it is given.
std::string counted(std::int64_t number, const std::string& noun, const std::string& plural = "");

}  // namespace quench
