// The file of a folder that belongs to an item: the same name with another ending.
#pragma once

#include <string>
#include <vector>

namespace quench {

// "0001.png" or "a/0001.png" in `folder` for the item "a/0001.jpg"; the first ending that is there. Throws if none is.
std::string item_file(const std::string& folder, const std::string& item, const std::vector<std::string>& endings);

}  // namespace quench
