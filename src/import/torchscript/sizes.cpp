#include "import/torchscript/sizes.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace quench {
namespace {

namespace jit = torch::jit;
using Stack = std::vector<c10::IValue>;

enum class Sort : std::uint8_t { kNone, kComparison, kMeeting, kSign, kDivision, kRange, kRounding };

Sort sort_of(const jit::Node& node) {
  static const std::map<std::string, Sort> kSorts = {{"aten::lt", Sort::kComparison},
                                                     {"aten::le", Sort::kComparison},
                                                     {"aten::gt", Sort::kComparison},
                                                     {"aten::ge", Sort::kComparison},
                                                     {"aten::eq", Sort::kComparison},
                                                     {"aten::ne", Sort::kComparison},
                                                     {"prim::min", Sort::kMeeting},
                                                     {"prim::max", Sort::kMeeting},
                                                     {"prim::abs", Sort::kSign},
                                                     {"aten::Bool", Sort::kSign},
                                                     {"aten::floordiv", Sort::kDivision},
                                                     {"aten::__round_to_zero_floordiv", Sort::kDivision},
                                                     {"aten::remainder", Sort::kDivision},
                                                     {"aten::__range_length", Sort::kRange},
                                                     {"aten::Int", Sort::kRounding},
                                                     {"aten::floor", Sort::kRounding},
                                                     {"aten::ceil", Sort::kRounding},
                                                     {"aten::round", Sort::kRounding},
                                                     {"aten::__rshift__", Sort::kRounding},
                                                     {"aten::__and__", Sort::kRounding},
                                                     {"aten::__or__", Sort::kRounding},
                                                     {"aten::__xor__", Sort::kRounding}};
  const auto at = kSorts.find(node.kind().toQualString());
  return at == kSorts.end() ? Sort::kNone : at->second;
}

std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

// How many steps range(low, high, step) has, as a division that rounds down.
SeenNumber steps_of(std::int64_t low, std::int64_t high, std::int64_t step) {
  const std::int64_t length = step > 0 ? difference(high, low) : difference(low, high);
  const std::int64_t stride = step > 0 ? step : difference(0, step);
  return {difference(length, difference(1, stride)), stride};
}

bool holds(c10::Symbol comparison, double difference) {
  if (comparison == c10::aten::lt) return difference < 0;
  if (comparison == c10::aten::le) return difference <= 0;
  if (comparison == c10::aten::gt) return difference > 0;
  if (comparison == c10::aten::ge) return difference >= 0;
  return (comparison == c10::aten::eq) == (difference == 0);
}

// A line through what was seen, over the size.
struct Line {
  double at_one, slope;
  double far() const { return at_one + slope * 1e9; }
};

std::optional<Line> line_through(const std::vector<SeenNumber>& seen, double size) {
  const auto at = [&](std::size_t i) { return static_cast<double>(seen[i][0]); };
  if (at(2) - at(1) != at(1) - at(0)) return std::nullopt;
  const double slope = (at(1) - at(0)) / size;
  return Line{at(0) - slope * (size - 1), slope};
}

bool comparison_flips(c10::Symbol comparison, const Line& line) {
  const bool crosses = line.slope != 0 && line.at_one / line.slope <= 0;  // from size 1 on it grows through 0
  const bool equality = comparison == c10::aten::eq || comparison == c10::aten::ne;
  return equality ? crosses : holds(comparison, line.at_one) != holds(comparison, line.far());
}

// s * N + c over b is even in N where b divides s. A multiple of N by b alone, rounded down, is what the sizes of
// tensors are looked for as (trace/dims.h): the quotient of the largest trace tells the divisor.
bool division_flips(const jit::Node& node, const std::vector<SeenNumber>& seen, const Line& line) {
  const std::int64_t divisor = seen[0][1], largest = seen[2][0];
  if (divisor <= 0 || largest <= 0 || seen[1][1] != divisor || seen[2][1] != divisor) return true;
  const bool range = sort_of(node) == Sort::kRange;
  if (range && line.at_one < 0) return true;
  if (std::fmod(line.slope, static_cast<double>(divisor)) == 0) return false;
  const std::int64_t quotient = largest / divisor;
  const bool part = seen[1][0] == 2 * seen[0][0] && quotient > seen[0][0] / divisor && largest / quotient == divisor;
  return range || node.kind() == c10::aten::remainder || !part;
}

}  // namespace

bool is_comparison(const jit::Node& node) { return sort_of(node) == Sort::kComparison; }

std::optional<SeenNumber> seen_by(const jit::Node& node, const Stack& stack) {
  const Sort sort = sort_of(node);
  const auto number = [](const c10::IValue& value) { return value.isInt() || value.isDouble(); };
  if (sort == Sort::kNone || stack.empty() || !std::all_of(stack.begin(), stack.end(), number)) return std::nullopt;
  const bool whole = std::all_of(stack.begin(), stack.end(), [](const c10::IValue& value) { return value.isInt(); });
  if (!whole || sort == Sort::kRounding) {
    if (whole && stack.size() == 1) return std::nullopt;  // int(3)
    SeenNumber bits{};
    for (std::size_t i = 0; i < std::min(stack.size(), bits.size()); ++i)
      bits[i] = std::bit_cast<std::int64_t>(stack[i].toScalar().toDouble());
    return bits;
  }
  if (sort == Sort::kRange) return steps_of(stack.at(0).toInt(), stack.at(1).toInt(), stack.at(2).toInt());
  if (sort == Sort::kSign) return SeenNumber{stack[0].toInt(), 0};
  if (sort == Sort::kDivision) return SeenNumber{stack[0].toInt(), stack.at(1).toInt()};
  return SeenNumber{difference(stack[0].toInt(), stack.at(1).toInt()), 0};
}

bool may_flip(const jit::Node& node, const std::vector<SeenNumber>& seen, std::int64_t size) {
  if (node.kind() == c10::prim::Loop)
    return std::any_of(seen.begin(), seen.end(), [](auto& one) { return one[1] < 0; });
  const bool whole = std::all_of(node.inputs().begin(), node.inputs().end(), [](const jit::Value* input) {
    return input->type()->kind() == c10::TypeKind::IntType;
  });
  const std::optional<Line> line = line_through(seen, static_cast<double>(size));
  if (!whole || !line) return true;
  switch (sort_of(node)) {
    case Sort::kComparison: return comparison_flips(node.kind(), *line);
    case Sort::kMeeting: return comparison_flips(c10::aten::lt, *line);
    case Sort::kSign: return comparison_flips(node.kind() == c10::prim::abs ? c10::aten::ge : c10::aten::ne, *line);
    case Sort::kDivision:
    case Sort::kRange: return division_flips(node, seen, *line);
    default: return true;
  }
}

}  // namespace quench
