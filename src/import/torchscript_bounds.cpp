#include "import/torchscript_bounds.h"

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
                   " of a pickle is none that torch.jit.save writes");
      const std::uint64_t number = take(shape->fixed + shape->length);
      if (shape->length > 0) skip(number);
      for (unsigned i = 0; i < shape->lines; ++i) skip_line();
      const bool memo = opcode == 'q' || opcode == 'r';
      QUENCH_CHECK(!memo || number < pickle_.size(), "place ", number, " of the memo at byte ", at_, " of a pickle of ",
                   pickle_.size(), " bytes");
      if (opcode == '.') return;
    }
    fail("a pickle ends too early");
  }

 private:
  // Little-endian; of a float the bits, which nobody asks for.
  std::uint64_t take(unsigned count) {
    const std::size_t begin = at_;
    skip(count);
    std::uint64_t number = 0;
    for (unsigned i = count; i-- > 0;) number = number << 8 | static_cast<unsigned char>(pickle_[begin + i]);
    return number;
  }
  void skip(std::uint64_t count) {
    QUENCH_CHECK(count <= pickle_.size() - at_, "a pickle has ", count, " bytes at byte ", at_, ", and ends after ",
                 pickle_.size() - at_);
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

constexpr int kDeepest = 200;

}  // namespace

void check_pickle_bounds(std::string_view pickle) { PickleBounds(pickle).check(); }

void check_program_depth(std::string_view program) {
  int brackets = 0, prefixes = 0, indent = 0;
  bool line_begins = true;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const char c = program[i];
    if (c == '\n') {
      line_begins = true;
      indent = 0;
    } else if (c == ' ') {
      indent += line_begins ? 1 : 0;
    } else {
      line_begins = false;
      if (c == '(' || c == '[' || c == '{') ++brackets;
      if ((c == ')' || c == ']' || c == '}') && brackets > 0) --brackets;
      const bool negation = c == '-' || c == '~' || c == '*' || program.substr(i, 4) == "not ";
      prefixes = negation ? prefixes + 1 : 0;
      if (program.substr(i, 4) == "not ") i += 2;
    }
    QUENCH_CHECK(brackets <= kDeepest && prefixes <= kDeepest && indent <= 2 * kDeepest,
                 "the program is nested more than ", kDeepest, " deep, at character ", i);
  }
}

}  // namespace quench
