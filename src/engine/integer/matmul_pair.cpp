// quench.QMatMul of two activations, by oneDNN. With b' = b less 128 where its codes are unsigned, and z' its zero
// point:
//
//   sum((a - z_a) * (b' - z')) = sum(a * b') - z_a * sum(b') - z' * sum(a) + K * z_a * z'
//
// oneDNN gives the first sum; the others belong to a column, a row and the whole, and are added to it.
#include "engine/integer/matmul_pair.h"

#include "engine/integer/product.h"
#include "kernels/parallel.h"

namespace quench {
namespace {

using Type = dnnl::memory::data_type;
using MatMul = dnnl::matmul;
constexpr std::int64_t kMostTerms = 1 << 14;  // each below 2^16 with all that is added to it: sums fit int32

struct Geometry {
  std::int64_t matrices, rows, terms, columns;  // [matrices, rows, terms] x [matrices, terms, columns]
};

// Unsigned codes to signed ones.
class SignedStep : public Task {
 public:
  SignedStep(std::int64_t count, int from, int to) : count_(count), from_(from), to_(to) {}
  void run(Frame& frame) const override {
    const auto* from = frame.as<const std::uint8_t>(from_);
    auto* to = frame.as<std::uint8_t>(to_);
    in_parallel(count_, 1 << 16, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) to[i] = from[i] ^ 0x80;
    });
  }

 private:
  std::int64_t count_;
  int from_, to_;
};

struct Slots {
  int a, b, sums, codes;
};

class PairResultStep : public Task {
 public:
  PairResultStep(const IntegerForm& form, const Geometry& geometry, std::int32_t b_zero, const Slots& slots)
      : geometry_(geometry),
        slots_(slots),
        a_signed_(form.in[0].scheme.is_signed()),
        a_zero_(form.in[0].params.zero_point[0]),
        b_zero_(b_zero),
        plain_(form.arithmetic, {form.in[0].params.scale[0], form.in[1].params.scale, 1},
               output_codes(form.y, form.arithmetic, form.clip)) {}

  void run(Frame& frame) const override {
    in_parallel(geometry_.matrices, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t m = first; m < last; ++m) finish(frame, m);
    });
  }

 private:
  template <typename Code>
  std::int32_t row_sum(const std::uint8_t* bytes) const {
    const auto* codes = reinterpret_cast<const Code*>(bytes);
    std::int32_t sum = 0;
    for (std::int64_t k = 0; k < geometry_.terms; ++k) sum += codes[k];
    return sum;
  }

  // What each column adds: - z_a * sum(b') + K * z_a * z'.
  std::vector<std::int32_t> column_terms(const std::int8_t* b) const {
    std::vector<std::int32_t> sums(static_cast<std::size_t>(geometry_.columns), 0);
    for (std::int64_t k = 0; k < geometry_.terms; ++k)
      for (std::size_t n = 0; n < sums.size(); ++n) sums[n] += b[k * geometry_.columns + static_cast<std::int64_t>(n)];
    const auto whole = static_cast<std::int32_t>(geometry_.terms) * a_zero_ * b_zero_;
    for (std::size_t n = 0; n < sums.size(); ++n) sums[n] = whole - a_zero_ * sums[n];
    return sums;
  }

  void finish(Frame& frame, std::int64_t matrix) const {
    const auto& [matrices, rows, terms, columns] = geometry_;
    const std::vector<std::int32_t> column =
        column_terms(frame.as<const std::int8_t>(slots_.b) + matrix * terms * columns);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t row = matrix * rows + r;
      const auto* a = frame.as<const std::uint8_t>(slots_.a) + row * terms;
      const std::int32_t by_row = -b_zero_ * (a_signed_ ? row_sum<std::int8_t>(a) : row_sum<std::uint8_t>(a));
      const auto* sums = frame.as<const std::int32_t>(slots_.sums) + row * columns;
      auto* codes = frame.as<std::uint8_t>(slots_.codes) + row * columns;
      for (std::int64_t n = 0; n < columns; ++n)
        codes[n] =
            static_cast<std::uint8_t>(plain_(sums[n] + std::int64_t{by_row} + column[static_cast<std::size_t>(n)]));
    }
  }

  Geometry geometry_;
  Slots slots_;
  bool a_signed_;
  std::int32_t a_zero_, b_zero_;
  Requantizer plain_;
};

std::optional<Geometry> geometry_of(const Sizes& a, const Sizes& b) {
  const std::size_t rank = a.size();
  if (rank < 2 || b.size() != rank || !std::equal(a.begin(), a.end() - 2, b.begin())) return std::nullopt;
  std::int64_t matrices = 1;
  for (std::size_t d = 0; d + 2 < rank; ++d) matrices *= a[d];
  const Geometry geometry{matrices, a[rank - 2], a[rank - 1], b[rank - 1]};
  return geometry.terms <= kMostTerms ? std::optional(geometry) : std::nullopt;
}

bool fits(const IntegerForm& form) {
  const bool bytes = is_byte(form.in[0]) && is_byte(form.in[1]) && is_byte(form.y);
  return has_byte_loops() && bytes && form.in[0].scheme.per_tensor() && form.in[1].scheme.per_tensor();
}

}  // namespace

bool build_matmul_pair(Builder& builder, const Node& node, const IntegerForm& form) {
  const auto y_sizes = sizes_of(node.output().dims());
  if (!fits(form) || form.bias_slot >= 0 || !y_sizes) return false;
  const int a_given = builder.input(*node.input(form.slots[0])), b_given = builder.input(*node.input(form.slots[1]));
  if (a_given < 0 || b_given < 0) return false;
  const auto geometry = geometry_of(builder.layout(a_given).get_dims(), builder.layout(b_given).get_dims());
  if (!geometry) return false;
  const auto& [matrices, rows, terms, columns] = *geometry;
  const int a = builder.plain(a_given), b_plain = builder.plain(b_given);
  std::int32_t b_zero = form.in[1].params.zero_point[0];
  int b = b_plain;
  if (!form.in[1].scheme.is_signed()) {
    b = builder.add_slot(plain_layout(builder.layout(b_plain).get_dims(), Type::s8));
    builder.add_step(std::make_unique<SignedStep>(matrices * terms * columns, b_plain, b), node, "own sign", {b_plain},
                     {b});
    b_zero -= 128;
  }
  const int left = builder.add_alias(a, plain_layout({matrices, rows, terms}, builder.layout(a).get_data_type()));
  const int right = builder.add_alias(b, plain_layout({matrices, terms, columns}, Type::s8));
  const DnnlLayout result = plain_layout({matrices, rows, columns}, Type::s32);
  const MatMul::primitive_desc description(onednn_cpu(), builder.layout(left), builder.layout(right), result,
                                           attributes_with());
  const int sums = builder.add_slot(result);
  add_primitive(builder, node, description, MatMul(description),
                {{{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}}, sums, {}});
  const int codes = builder.add_slot(plain_layout(*y_sizes, form.y.scheme.is_signed() ? Type::s8 : Type::u8));
  builder.add_step(std::make_unique<PairResultStep>(form, *geometry, b_zero, Slots{left, right, sums, codes}), node,
                   "own requantization", {left, right, sums}, {codes});
  builder.define(node.output(), codes);
  return true;
}

}  // namespace quench
