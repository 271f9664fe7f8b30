// Words of the text form: names, quoted strings, numbers, punctuation; each with its place for messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quench {

class TextLexer {
 public:
  explicit TextLexer(std::string_view text) : text_(text) { advance(); }

  enum class Kind : std::uint8_t { kWord, kString, kPunctuation, kEnd };
  Kind kind() const { return kind_; }
  const std::string& word() const { return word_; }  // the word, the string's content, or one character
  bool at(std::string_view text) const { return kind_ != Kind::kString && word_ == text; }

  void advance();
  bool accept(std::string_view text);  // takes it when it is next
  void expect(std::string_view text);  // throws when it is not next
  std::string take_word(const char* what);
  std::string take_string(const char* what);
  [[noreturn]] void fail_here(const std::string& message) const;  // "line 3, column 7: ..."

 private:
  void skip_space();
  void read_string();

  std::string_view text_;
  std::size_t next_ = 0;
  std::size_t start_ = 0;
  Kind kind_ = Kind::kEnd;
  std::string word_;
};

}  // namespace quench
