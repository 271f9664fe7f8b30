#include "import/pt2/symbols.h"

#include <cctype>
#include <charconv>
#include <optional>

namespace quench {
namespace {

constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxLength = 4096;

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  std::optional<Dim> parse() {
    std::optional<Dim> dim = product(0);
    return at_ == text_.size() ? dim : std::nullopt;
  }

 private:
  // factor * factor ..., the short form; one factor in sympy's.
  std::optional<Dim> product(int depth) {
    std::optional<Dim> result = factor(depth);
    while (result && take("*")) {
      const std::optional<Dim> next = factor(depth);
      result = next ? std::optional(*result * *next) : std::nullopt;
    }
    return result;
  }

  std::optional<Dim> factor(int depth) {
    if (depth > kMaxDepth) return std::nullopt;
    if (take("Symbol('")) return quoted_symbol();
    if (take("Integer(")) {
      std::optional<Dim> value = number();
      return take(")") ? value : std::nullopt;
    }
    if (take("Mul(")) return arguments(depth + 1);
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) return number();
    return plain_symbol();
  }

  std::optional<Dim> arguments(int depth) {
    Dim result(1);
    do {
      const std::optional<Dim> next = product(depth);
      if (!next) return std::nullopt;
      result = result * *next;
    } while (take(", "));
    return take(")") ? std::optional(result) : std::nullopt;
  }

  std::optional<Dim> number() {
    std::int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) return std::nullopt;
    at_ += static_cast<std::size_t>(end - begin);
    return Dim(value);
  }

  // After "Symbol('": the name, then assumptions up to the bracket.
  std::optional<Dim> quoted_symbol() {
    std::optional<Dim> symbol = plain_symbol();
    if (!symbol || !take("'")) return std::nullopt;
    const std::size_t close = text_.find(')', at_);
    if (close == std::string::npos) return std::nullopt;
    at_ = close + 1;
    return symbol;
  }

  std::optional<Dim> plain_symbol() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    if (begin == at_ || std::isdigit(static_cast<unsigned char>(text_[begin]))) return std::nullopt;
    return Dim::symbol(text_.substr(begin, at_ - begin));
  }

  bool take(const char* word) {
    const std::string expected(word);
    if (text_.compare(at_, expected.size(), expected) != 0) return false;
    at_ += expected.size();
    return true;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

Dim dim_of_expression(const std::string& expression) {
  if (expression.size() > kMaxLength) return {};
  return Parser(expression).parse().value_or(Dim());
}

}  // namespace quench
