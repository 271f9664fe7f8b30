// Plain text tables: columns as wide as they need to be, long cells cut in the middle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quench {

struct Column {
  std::string title;
  std::size_t widest = 40;  // longer cells are shortened: "layer1.0...conv1"
  bool right = false;       // numbers
};

std::string table_text(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows);

std::string shortened(const std::string& text, std::size_t widest);
std::string grouped(std::int64_t number);   // 1,234,567
std::string size_text(std::int64_t bytes);  // "3.4 MB"

}  // namespace quench
