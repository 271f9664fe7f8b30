#include "core/base64.h"

#include <array>
#include <cstdint>

#include "quench/error.h"

namespace quench {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::array<std::int8_t, 256> make_reverse() {
  std::array<std::int8_t, 256> reverse{};
  reverse.fill(-1);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i)
    reverse[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::int8_t>(i);
  return reverse;
}

}  // namespace

std::string encode_base64(const void* data, std::size_t bytes) {
  const auto* in = static_cast<const unsigned char*>(data);
  std::string out;
  out.reserve((bytes + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes; i += 3) {
    const std::size_t left = bytes - i;
    const unsigned group = (in[i] << 16U) | (left > 1 ? in[i + 1] << 8U : 0U) | (left > 2 ? in[i + 2] : 0U);
    out += kAlphabet[group >> 18U];
    out += kAlphabet[(group >> 12U) & 63U];
    out += left > 1 ? kAlphabet[(group >> 6U) & 63U] : '=';
    out += left > 2 ? kAlphabet[group & 63U] : '=';
  }
  return out;
}

std::string decode_base64(std::string_view text) {
  static const std::array<std::int8_t, 256> reverse = make_reverse();
  QUENCH_CHECK(text.size() % 4 == 0, "base64 text of ", text.size(), " characters: not a multiple of four");
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    unsigned group = 0;
    for (std::size_t j = i; j < i + 4; ++j) {
      const bool is_padding = j >= text.size() - padding;
      const int digit = is_padding ? 0 : reverse[static_cast<unsigned char>(text[j])];
      QUENCH_CHECK(digit >= 0, "character '", text[j], "' is not base64");
      group = (group << 6U) | static_cast<unsigned>(digit);
    }
    for (int shift = 16; shift >= 0; shift -= 8)
      out += static_cast<char>((group >> static_cast<unsigned>(shift)) & 255U);
  }
  out.resize(out.size() - padding);
  return out;
}

}  // namespace quench
