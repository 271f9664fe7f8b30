// Lists in texts: "a, b, c".
#pragma once

#include <string>
#include <string_view>

namespace quench {

// What `text_of` gives for each item, with `between` between them.
template <typename Items, typename TextOf>
std::string joined(const Items& items, std::string_view between, const TextOf& text_of) {
  std::string text;
  bool first = true;
  for (const auto& item : items) {
    if (!first) text += between;
    text += text_of(item);
    first = false;
  }
  return text;
}

template <typename Texts>
std::string joined(const Texts& texts, std::string_view between = ", ") {
  return joined(texts, between, [](const auto& text) -> const auto& { return text; });
}

inline std::string in_quotes(const std::string& text) { return "'" + text + "'"; }

// "'a', 'b'": names in a message.
template <typename Texts>
std::string joined_in_quotes(const Texts& texts) {
  return joined(texts, ", ", in_quotes);
}

}  // namespace quench
