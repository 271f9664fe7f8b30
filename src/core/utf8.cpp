#include "core/utf8.h"

#include <cstdint>

namespace quench {
namespace {

// By the first byte of a character: how many follow, and between which bounds the next one lies. The bounds exclude
// longer spellings of shorter characters, halves of surrogate pairs, and what is beyond U+10FFFF.
struct Form {
  std::uint8_t first, last;
  std::size_t more;
  std::uint8_t low, high;
};
constexpr Form kForms[] = {{0x00, 0x7F, 0, 0x80, 0xBF}, {0xC2, 0xDF, 1, 0x80, 0xBF}, {0xE0, 0xE0, 2, 0xA0, 0xBF},
                           {0xE1, 0xEC, 2, 0x80, 0xBF}, {0xED, 0xED, 2, 0x80, 0x9F}, {0xEE, 0xEF, 2, 0x80, 0xBF},
                           {0xF0, 0xF0, 3, 0x90, 0xBF}, {0xF1, 0xF3, 3, 0x80, 0xBF}, {0xF4, 0xF4, 3, 0x80, 0x8F}};

// Bytes of the character that begins there; 0: none does.
std::size_t character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  for (const Form& form : kForms) {
    if (byte(at) < form.first || byte(at) > form.last) continue;
    if (text.size() - at <= form.more) return 0;
    for (std::size_t i = 1; i <= form.more; ++i) {
      const std::uint8_t low = i == 1 ? form.low : 0x80, high = i == 1 ? form.high : 0xBF;
      if (byte(at + i) < low || byte(at + i) > high) return 0;
    }
    return form.more + 1;
  }
  return 0;
}

}  // namespace

std::optional<std::size_t> first_not_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_at(text, at);
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

}  // namespace quench
