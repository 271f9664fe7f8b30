// A text cut at every separator: "a,,b" has three parts, "" has one.
#pragma once

#include <string>
#include <vector>

namespace quench {

std::vector<std::string> split(const std::string& text, char separator);

}  // namespace quench
