#include "report/table.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace quench {
namespace {

std::string scaled(std::int64_t number, const std::array<const char*, 5>& units) {
  auto value = static_cast<double>(number);
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < units.size(); ++unit) value /= 1000;
  std::array<char, 48> text{};
  const char* const format = unit == 0 ? "%.0f %s" : value < 10 ? "%.2f %s" : "%.1f %s";
  std::snprintf(text.data(), text.size(), format, value, units.at(unit));
  std::string result = text.data();
  while (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

// Characters of UTF-8, as if each were one column wide.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

// Where its character of this number begins.
std::size_t place_of(const std::string& text, std::size_t character) {
  std::size_t at = 0;
  for (; at < text.size(); ++at)
    if (begins_character(text[at]) && character-- == 0) break;
  return at;
}

// A name may hold anything; a line break would end the row.
std::string printable(std::string cell) {
  std::replace_if(cell.begin(), cell.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
  return cell;
}

void append(std::string& line, const std::string& cell, std::size_t width, bool right) {
  const std::string gap(width - std::min(width, width_of(cell)), ' ');
  line += right ? gap + cell : cell + gap;
  line += "  ";
}

}  // namespace

std::string shortened(const std::string& text, std::size_t widest) {
  const std::size_t width = width_of(text);
  if (width <= widest) return text;
  const std::size_t tail = (widest - 3) / 2 + (widest - 3) / 4;  // the end of a name tells more than its start
  return text.substr(0, place_of(text, widest - 3 - tail)) + "..." + text.substr(place_of(text, width - tail));
}

std::string table_text(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::size_t width = columns[c].title.size();
    for (const auto& row : rows) width = std::max(width, std::min(width_of(row[c]), columns[c].widest));
    widths.push_back(width);
  }
  std::string text;
  const auto add_line = [&](const auto& cell_at) {
    std::string line;
    for (std::size_t c = 0; c < columns.size(); ++c)
      append(line, printable(shortened(cell_at(c), columns[c].widest)), widths[c], columns[c].right);
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + "\n";
  };
  add_line([&](std::size_t c) { return columns[c].title; });
  add_line([&](std::size_t c) { return std::string(widths[c], '-'); });
  for (const auto& row : rows) add_line([&](std::size_t c) { return row[c]; });
  return text;
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string size_text(std::int64_t bytes) { return scaled(bytes, {"bytes", "kB", "MB", "GB", "TB"}); }

}  // namespace quench
