#include "import/torchscript/bounds.h"

#include <cctype>
#include <cstdint>
#include <optional>
#include <utility>

#include "quench/error.h"

namespace quench {
namespace {

// What follows an opcode of the pickle: `fixed` bytes; or a length of `length` bytes, and as many bytes; or `lines`.
struct Shape {
  unsigned fixed = 0, length = 0, lines = 0;
};

std::optional<Shape> shape_of(char opcode) {
  using namespace std::literals;
  static const std::pair<std::string_view, Shape> kShapes[] = {
      {"()]}.NQRabestu0\x81\x85\x86\x87\x88\x89"sv, {}},
      {"\x80Kqh"sv, {.fixed = 1}},
      {"M"sv, {.fixed = 2}},
      {"Jrj"sv, {.fixed = 4}},
      {"G"sv, {.fixed = 8}},
      {"U\x8a"sv, {.length = 1}},
      {"XT"sv, {.length = 4}},
      {"\x8d"sv, {.length = 8}},
      {"c"sv, {.lines = 2}},
  };
  for (const auto& [opcodes, shape] : kShapes)
    if (opcodes.find(opcode) != std::string_view::npos) return shape;
  return std::nullopt;
}

class PickleBounds {
 public:
  explicit PickleBounds(std::string_view pickle) : pickle_(pickle) {}

  void check() {
    while (at_ < pickle_.size()) {
      const char opcode = pickle_[at_++];
      const std::optional<Shape> shape = shape_of(opcode);
      QUENCH_CHECK(shape, "opcode ", int{static_cast<unsigned char>(opcode)}, " at byte ", at_ - 1,
                   " of a pickle is not one that torch.jit.save writes");
      const std::uint64_t number = take(shape->fixed + shape->length);
      if (shape->length > 0) skip(number);
      for (unsigned i = 0; i < shape->lines; ++i) skip_line();
      const bool memo = opcode == 'q' || opcode == 'r';
      QUENCH_CHECK(!memo || number < pickle_.size(), "place ", number, " of the memo, at byte ", at_,
                   ", is beyond a pickle of ", pickle_.size(), " bytes");
      if (opcode == '.') return;
    }
    fail("a pickle ends too early: its end mark is missing");
  }

 private:
  // Little-endian; for a float the bits, which nothing uses.
  std::uint64_t take(unsigned count) {
    const std::size_t begin = at_;
    skip(count);
    std::uint64_t number = 0;
    for (unsigned i = count; i-- > 0;) number = number << 8 | static_cast<unsigned char>(pickle_[begin + i]);
    return number;
  }
  void skip(std::uint64_t count) {
    QUENCH_CHECK(count <= pickle_.size() - at_, "a pickle ends too early: ", count, " bytes expected at byte ", at_,
                 ", ", pickle_.size() - at_, " left");
    at_ += count;
  }
  void skip_line() {
    const std::size_t end = pickle_.find('\n', at_);
    QUENCH_CHECK(end != std::string_view::npos, "a name at byte ", at_, " of a pickle has no end");
    at_ = end + 1;
  }

  std::string_view pickle_;
  std::size_t at_ = 0;
};

constexpr int kDeepest = 200;        // nesting of brackets, signs and blocks
constexpr int kLongestChain = 1000;  // operators in one statement: a + b + c is a tree as deep as it is long

// One pass over the characters of a program; strings are not told from code, so one full of brackets is refused too.
class ProgramDepth {
 public:
  explicit ProgramDepth(std::string_view program) : program_(program) {}

  void check() {
    for (at_ = 0; at_ < program_.size(); ++at_) {
      take(program_[at_]);
      QUENCH_CHECK(brackets_ <= kDeepest && prefixes_ <= kDeepest && indent_ <= 2 * kDeepest,
                   "the program is nested more than ", kDeepest, " deep, at character ", at_);
      QUENCH_CHECK(chain_ <= kLongestChain, "a statement of the program has more than ", kLongestChain,
                   " operators, at character ", at_);
    }
  }

 private:
  void take(char c) {
    if (c == '\n') {
      line_begins_ = true;
      indent_ = 0;
      if (brackets_ == 0) chain_ = 0;
    } else if (c == ' ') {
      indent_ += line_begins_ ? 1 : 0;
    } else {
      line_begins_ = false;
      if (c == '(' || c == '[' || c == '{') ++brackets_;
      if ((c == ')' || c == ']' || c == '}') && brackets_ > 0) --brackets_;
      const bool is_not = word_at("not");
      prefixes_ = is_not || c == '-' || c == '~' || c == '*' ? prefixes_ + 1 : 0;
      chain_ += is_operator(c) ? 1 : 0;
      if (is_not) at_ += 2;
    }
  }
  bool is_operator(char c) const {
    if (c == '.') return at_ + 1 < program_.size() && std::isalpha(static_cast<unsigned char>(program_[at_ + 1]));
    return std::string_view("+-*/%<>&|^@").find(c) != std::string_view::npos || word_at("if") || word_at("and") ||
           word_at("or") || word_at("in");
  }
  bool word_at(std::string_view word) const {
    const auto is_name = [&](std::size_t at) {
      return at < program_.size() && (std::isalnum(static_cast<unsigned char>(program_[at])) || program_[at] == '_');
    };
    return program_.substr(at_, word.size()) == word && !is_name(at_ + word.size()) && (at_ == 0 || !is_name(at_ - 1));
  }

  std::string_view program_;
  std::size_t at_ = 0;
  int brackets_ = 0, prefixes_ = 0, indent_ = 0, chain_ = 0;
  bool line_begins_ = true;
};

}  // namespace

void check_pickle_bounds(std::string_view pickle) { PickleBounds(pickle).check(); }

void check_program_depth(std::string_view program) { ProgramDepth(program).check(); }

}  // namespace quench
