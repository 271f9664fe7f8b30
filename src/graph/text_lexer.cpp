#include "graph/text_lexer.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "quench/error.h"

namespace quench {
namespace {

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || (c != '\0' && std::strchr("_./:-+?*#", c));
}

}  // namespace

void TextLexer::skip_space() {
  while (next_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[next_]))) ++next_;
}

void TextLexer::advance() {
  skip_space();
  start_ = next_;
  word_.clear();
  if (next_ >= text_.size()) {
    kind_ = Kind::kEnd;
    return;
  }
  if (text_[next_] == '"') {
    read_string();
    return;
  }
  kind_ = is_word_character(text_[next_]) ? Kind::kWord : Kind::kPunctuation;
  do word_ += text_[next_++];
  while (kind_ == Kind::kWord && next_ < text_.size() && is_word_character(text_[next_]));
}

void TextLexer::read_string() {
  kind_ = Kind::kString;
  for (++next_; next_ < text_.size() && text_[next_] != '"'; ++next_) {
    if (text_[next_] != '\\') {
      word_ += text_[next_];
      continue;
    }
    const char escaped = ++next_ < text_.size() ? text_[next_] : '\0';
    if (escaped == 'n')
      word_ += '\n';
    else if (escaped == '"' || escaped == '\\')
      word_ += escaped;
    else if (escaped == 'x' && next_ + 2 < text_.size()) {
      unsigned byte = 0;
      const char* digits = text_.data() + next_ + 1;
      if (std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2)
        fail_here("\\x needs two hexadecimal digits");
      word_ += static_cast<char>(byte);
      next_ += 2;
    } else {
      fail_here("unknown escape in a string");
    }
  }
  if (next_ >= text_.size()) fail_here("a string without an end");
  ++next_;
}

bool TextLexer::accept(std::string_view text) {
  if (!at(text)) return false;
  advance();
  return true;
}

void TextLexer::expect(std::string_view text) {
  if (!accept(text))
    fail_here(concat("expected '", text, "', found '", kind_ == Kind::kEnd ? "end of text" : word_, "'"));
}

std::string TextLexer::take_word(const char* what) {
  if (kind_ != Kind::kWord) fail_here(concat("expected ", what, ", found '", word_, "'"));
  std::string word = word_;
  advance();
  return word;
}

std::string TextLexer::take_string(const char* what) {
  if (kind_ != Kind::kString) fail_here(concat("expected ", what, " in quotes, found '", word_, "'"));
  std::string text = word_;
  advance();
  return text;
}

void TextLexer::fail_here(const std::string& message) const {
  const std::string_view before = text_.substr(0, std::min(start_, text_.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  fail("line ", line, ", column ", before.size() - line_start + 1, ": ", message);
}

}  // namespace quench
