// The static type of a value: a tensor of some element type and dims, or a sequence or optional of one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quench/dtype.h"

namespace quench {

// One dimension: a number (3), a symbol ("N", or a product such as "2*N"), or unknown.
class Dim {
 public:
  Dim() = default;                               // unknown
  Dim(std::int64_t number) : number_(number) {}  // NOLINT: a number is a dim
  static Dim symbol(std::string name);           // "" is unknown

  bool is_number() const { return number_.has_value(); }
  bool is_symbol() const { return !symbol_.empty(); }
  bool is_unknown() const { return !is_number() && !is_symbol(); }
  std::int64_t number() const { return *number_; }
  const std::string& symbol() const { return symbol_; }
  std::string text() const;  // "3", "N", "?"

  // Two unknown dims are written alike but need not be equal: see certainly_equal.
  bool operator==(const Dim& other) const = default;
  bool certainly_equal(const Dim& other) const { return !is_unknown() && *this == other; }

 private:
  std::optional<std::int64_t> number_;
  std::string symbol_;
};

using Dims = std::vector<Dim>;

// Exact arithmetic on dims where the result can be written (number*number, number*symbol, symbol*symbol,
// and quotients that divide evenly: 12*N / 4 = 3*N); unknown where it cannot.
Dim operator*(const Dim& a, const Dim& b);
Dim divide_exactly(const Dim& a, const Dim& b);
Dim product(const Dims& dims, std::size_t begin, std::size_t end);
std::string text_of(const Dims& dims);  // "[N, 3, 32, 32]"

struct TypeInfo {
  enum class Kind : std::uint8_t { kTensor, kSequence, kOptional };

  Kind kind = Kind::kTensor;
  DType dtype = DType::kUndefined;          // of a tensor; kUndefined when not known
  std::optional<Dims> dims;                 // of a tensor; nothing when the rank is not known
  std::shared_ptr<const TypeInfo> element;  // of a sequence or optional

  static TypeInfo tensor(DType dtype) { return {Kind::kTensor, dtype, std::nullopt, nullptr}; }
  static TypeInfo tensor(DType dtype, Dims dims) { return {Kind::kTensor, dtype, std::move(dims), nullptr}; }
  static TypeInfo sequence(TypeInfo element);
  static TypeInfo optional(TypeInfo element);

  bool is_tensor() const { return kind == Kind::kTensor; }
  bool operator==(const TypeInfo& other) const;
  std::string text() const;  // "float[N, 3, 32, 32]", "float[*]" (rank unknown), "seq(float[2])"
};

}  // namespace quench
