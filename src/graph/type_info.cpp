#include "quench/type_info.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/joined.h"

namespace quench {
namespace {

// coefficient * symbol * symbol ...: what a dim's text stands for.
struct Monomial {
  std::int64_t coefficient = 1;
  std::vector<std::string> symbols;  // sorted
};

bool parse_number(const std::string& text, std::int64_t& number) {
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end;
}

std::optional<Monomial> monomial_of(const Dim& dim) {
  if (dim.is_number()) return Monomial{dim.number(), {}};
  if (dim.is_unknown()) return std::nullopt;
  Monomial result;
  std::size_t begin = 0;
  while (begin <= dim.symbol().size()) {
    const std::size_t end = std::min(dim.symbol().find('*', begin), dim.symbol().size());
    const std::string part = dim.symbol().substr(begin, end - begin);
    std::int64_t number = 0;
    if (parse_number(part, number))
      result.coefficient *= number;
    else
      result.symbols.push_back(part);
    begin = end + 1;
  }
  std::sort(result.symbols.begin(), result.symbols.end());
  return result;
}

Dim dim_of(const Monomial& monomial) {
  if (monomial.symbols.empty() || monomial.coefficient == 0) return Dim(monomial.coefficient);
  std::string text = monomial.coefficient == 1 ? "" : std::to_string(monomial.coefficient);
  for (const std::string& symbol : monomial.symbols) text += (text.empty() ? "" : "*") + symbol;
  return Dim::symbol(text);
}

}  // namespace

Dim Dim::symbol(std::string name) {
  Dim dim;
  dim.symbol_ = std::move(name);
  return dim;
}

std::string Dim::text() const {
  if (is_number()) return std::to_string(number());
  return is_symbol() ? symbol_ : "?";
}

Dim operator*(const Dim& a, const Dim& b) {
  const auto left = monomial_of(a), right = monomial_of(b);
  if (!left || !right) return {};
  Monomial result = *left;
  if (__builtin_mul_overflow(left->coefficient, right->coefficient, &result.coefficient)) return {};
  result.symbols.insert(result.symbols.end(), right->symbols.begin(), right->symbols.end());
  std::sort(result.symbols.begin(), result.symbols.end());
  return dim_of(result);
}

Dim divide_exactly(const Dim& a, const Dim& b) {
  auto left = monomial_of(a);
  const auto right = monomial_of(b);
  if (!left || !right || right->coefficient == 0 || left->coefficient % right->coefficient != 0) return {};
  left->coefficient /= right->coefficient;
  for (const std::string& symbol : right->symbols) {
    auto at = std::find(left->symbols.begin(), left->symbols.end(), symbol);
    if (at == left->symbols.end()) return {};
    left->symbols.erase(at);
  }
  return dim_of(*left);
}

Dim product(const Dims& dims, std::size_t begin, std::size_t end) {
  Dim result(1);
  for (std::size_t i = begin; i < end; ++i) result = result * dims[i];
  return result;
}

std::string text_of(const Dims& dims) {
  return "[" + joined(dims, ", ", [](const Dim& dim) { return dim.text(); }) + "]";
}

TypeInfo TypeInfo::sequence(TypeInfo element) {
  return {Kind::kSequence, DType::kUndefined, std::nullopt, std::make_shared<const TypeInfo>(std::move(element))};
}

TypeInfo TypeInfo::optional(TypeInfo element) {
  return {Kind::kOptional, DType::kUndefined, std::nullopt, std::make_shared<const TypeInfo>(std::move(element))};
}

bool TypeInfo::operator==(const TypeInfo& other) const {
  if (kind != other.kind || dtype != other.dtype || dims != other.dims) return false;
  if (!element || !other.element) return !element && !other.element;
  return *element == *other.element;
}

std::string TypeInfo::text() const {
  switch (kind) {
    case Kind::kTensor: return name_of(dtype) + (dims ? text_of(*dims) : std::string("[*]"));
    case Kind::kSequence: return "seq(" + (element ? element->text() : std::string("?")) + ")";
    case Kind::kOptional: return "optional(" + (element ? element->text() : std::string("?")) + ")";
  }
  return "?";
}

}  // namespace quench
