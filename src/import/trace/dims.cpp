#include "import/trace/dims.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace quench {
namespace {

bool all_equal(const Numbers& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [&](std::int64_t number) { return number == numbers[0]; });
}

struct Relation {
  std::int64_t times = 1, over = 1, plus = 0;
  bool fits(const Numbers& numbers, const Numbers& sizes) const {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (sizes[i] * times / over + plus != numbers[i]) return false;
    return true;
  }
};

// The simplest way to get `numbers` from `sizes`, of the kind asked for.
enum class Kind : std::uint8_t { kSame, kMultiple, kPart, kShift, kLinear };

std::optional<Relation> relate(Kind kind, const Numbers& numbers, const Numbers& sizes) {
  const std::int64_t n = numbers[0], size = sizes[0];
  Relation relation;
  switch (kind) {
    case Kind::kSame: break;
    case Kind::kMultiple:
      if (size == 0 || n % size != 0) return std::nullopt;
      relation.times = n / size;
      break;
    case Kind::kPart:
      // Of a small example the quotient may be 0; the largest trace tells the divisor.
      if (numbers.back() == 0) return std::nullopt;
      relation.over = sizes.back() / numbers.back();
      if (relation.over < 2) return std::nullopt;
      break;
    case Kind::kShift: relation.plus = n - size; break;
    case Kind::kLinear:
      if (sizes[1] == size || (numbers[1] - n) % (sizes[1] - size) != 0) return std::nullopt;
      relation.times = (numbers[1] - n) / (sizes[1] - size);
      relation.plus = n - relation.times * size;
      break;
  }
  return relation.fits(numbers, sizes) ? std::optional(relation) : std::nullopt;
}

}  // namespace

Dim DimExplainer::dim_of(const Numbers& numbers) const {
  if (all_equal(numbers)) return Dim(numbers[0]);
  for (const Kind kind : {Kind::kSame, Kind::kMultiple})
    for (std::size_t input = 0; input < inputs_.size(); ++input)
      for (const Source& source : sources_of({traces_[0].inputs[input]}))
        if (const auto relation = relate(kind, numbers, source.sizes))
          return Dim(relation->times) * (*inputs_[input].dims)[static_cast<std::size_t>(source.axis)];
  return {};
}

Dims DimExplainer::dims_of(int value) const {
  const auto at = static_cast<std::size_t>(value);
  Dims dims;
  for (std::size_t axis = 0; axis < traces_[0].values[at].sizes.size(); ++axis) {
    Numbers sizes;
    for (const Trace& trace : traces_) sizes.push_back(trace.values[at].sizes.at(axis));
    dims.push_back(dim_of(sizes));
  }
  return dims;
}

// Only the axes whose size differs can explain a number that differs.
std::vector<DimExplainer::Source> DimExplainer::sources_of(const std::vector<int>& values) const {
  std::vector<Source> result;
  for (const int value : values) {
    const auto at = static_cast<std::size_t>(value);
    const std::size_t rank = traces_[0].values[at].sizes.size();
    for (std::size_t axis = 0; traces_[0].values[at].is_tensor && axis < rank; ++axis) {
      Source source{value, static_cast<int>(axis), {}};
      for (const Trace& trace : traces_)
        if (trace.values[at].sizes.size() == rank) source.sizes.push_back(trace.values[at].sizes[axis]);
      if (source.sizes.size() == traces_.size() && !all_equal(source.sizes)) result.push_back(source);
    }
  }
  return result;
}

AtenInt DimExplainer::expression(const Numbers& numbers, const Source& source, const Lookup& lookup) const {
  AtenInt result(numbers[0]);
  result.dim = dim_of(numbers);
  result.source = lookup(source.value);
  result.axis = source.axis;
  return result;
}

std::optional<AtenInt> DimExplainer::explain(const Numbers& numbers, std::size_t at, const Lookup& lookup) const {
  const Trace& first = traces_[0];
  const std::vector<int> own = first.nodes[at].inputs;
  const std::vector<int> inputs(first.inputs.begin(),
                                first.inputs.begin() + static_cast<std::ptrdiff_t>(inputs_.size()));
  std::vector<int> earlier;
  for (std::size_t i = at; i-- > 0;)
    earlier.insert(earlier.end(), first.nodes[i].outputs.begin(), first.nodes[i].outputs.end());

  for (const Kind kind : {Kind::kSame, Kind::kMultiple, Kind::kPart, Kind::kShift, Kind::kLinear})
    for (const std::vector<int>& values : {own, inputs, earlier})
      for (const Source& source : sources_of(values)) {
        const auto relation = relate(kind, numbers, source.sizes);
        if (!relation || !lookup(source.value)) continue;
        AtenInt result = expression(numbers, source, lookup);
        result.times = relation->times;
        result.over = relation->over;
        result.plus = relation->plus;
        return result;
      }
  return std::nullopt;
}

}  // namespace quench
