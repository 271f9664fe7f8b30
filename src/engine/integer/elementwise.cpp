// quench.QAdd, QMul and QTable on bytes. Under mlas sums are a loop of fused multiply-adds. All else is a table: of 256
// entries, or of 65,536 for two operands, made by the plain definition, so that it holds for every rule.
#include <ATen/ATen.h>

#include <cmath>

#include "engine/integer/product.h"
#include "engine/simd/byte_loops.h"
#include "engine/simd/look_up.h"
#include "kernels/parallel.h"
#include "ops/integer_layer.h"

namespace quench {
namespace {

using Type = dnnl::memory::data_type;
constexpr std::int64_t kGrain = 16384;

std::int64_t elements(const DnnlLayout& layout) {
  std::int64_t count = 1;
  for (const std::int64_t size : layout.get_dims()) count *= size;
  return count;
}

class AddStep : public Task {
 public:
  AddStep(const ByteSum& sum, std::int64_t count, int a, int b, int y)
      : sum_(sum), count_(count), a_(a), b_(b), y_(y) {}
  void run(Frame& frame) const override {
    in_parallel(count_, kGrain, [&](std::int64_t first, std::int64_t last) {
      byte_loops().add(sum_, last - first, frame.as<const std::uint8_t>(a_) + first,
                       frame.as<const std::uint8_t>(b_) + first, frame.as<std::uint8_t>(y_) + first);
    });
  }

 private:
  ByteSum sum_;
  std::int64_t count_;
  int a_, b_, y_;
};

// The constants of MLAS: quant/integer_elementwise.cpp.
ByteSum mlas_sum(const IntegerForm& form) {
  const OutputCodes y = output_codes(form.y, form.arithmetic, form.clip);
  const float ra = form.in[0].params.scale[0] / y.scale, rb = form.in[1].params.scale[0] / y.scale;
  const auto za = static_cast<float>(form.in[0].params.zero_point[0]);
  const auto zb = static_cast<float>(form.in[1].params.zero_point[0]);
  const float constant = static_cast<float>(y.zero_point) - std::fma(ra, za, rb * zb);
  return {ra, rb, constant, y.low, y.high, form.in[0].scheme.is_signed(), form.in[1].scheme.is_signed()};
}

class PairTableStep : public Task {
 public:
  PairTableStep(const Node& node, const IntegerForm& form, std::int64_t count, int a, int b, int y)
      : count_(count), a_(a), b_(b), y_(y) {
    const at::Tensor left = all_bytes(form.in[0].scheme).reshape({256, 1}).expand({256, 256});
    const at::Tensor right = all_bytes(form.in[1].scheme).reshape({1, 256}).expand({256, 256});
    const at::Tensor none;
    const at::Tensor all = compute_on_codes(
        float_op(node), {node, {{left, form.in[0]}, {right, form.in[1]}}, none, {form.y, form.arithmetic, form.clip}});
    const at::Tensor bytes = bytes_of(all);
    table_.assign(bytes.const_data_ptr<std::uint8_t>(), bytes.const_data_ptr<std::uint8_t>() + bytes.numel());
  }
  void run(Frame& frame) const override {
    const auto *a = frame.as<const std::uint8_t>(a_), *b = frame.as<const std::uint8_t>(b_);
    auto* y = frame.as<std::uint8_t>(y_);
    in_parallel(count_, kGrain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) y[i] = table_[static_cast<std::size_t>(a[i]) * 256 + b[i]];
    });
  }

 private:
  std::vector<std::uint8_t> table_;
  std::int64_t count_;
  int a_, b_, y_;
};

bool build_pair(Builder& builder, const Node& node) {
  const IntegerForm form = integer_form(node);
  const Value &first = *node.input(form.slots[0]), &second = *node.input(form.slots[1]);
  const bool bytes = is_byte(form.in[0]) && is_byte(form.in[1]) && is_byte(form.y);
  if (!has_byte_loops() || !bytes || first.is_constant() || second.is_constant()) return false;
  const int a = builder.input(first), given = builder.input(second);
  if (a < 0 || given < 0 || builder.layout(a).get_dims() != builder.layout(given).get_dims()) return false;
  const DnnlLayout from = builder.layout(a);
  const int b =
      builder.input_as(given, DnnlLayout(from.get_dims(), builder.layout(given).get_data_type(), strides_of(from)));
  const int y =
      builder.add_slot(DnnlLayout(from.get_dims(), form.y.scheme.is_signed() ? Type::s8 : Type::u8, strides_of(from)));
  const std::int64_t count = elements(from);
  if (node.op() == "quench.QAdd" && form.arithmetic.rule == Requantize::kMlas) {
    builder.add_step(std::make_unique<AddStep>(mlas_sum(form), count, a, b, y), node, "own add", {a, b}, {y});
  } else {
    builder.add_step(std::make_unique<PairTableStep>(node, form, count, a, b, y), node, "own table of pairs", {a, b},
                     {y});
  }
  builder.define(node.output(), y);
  return true;
}

class TableStep : public Task {
 public:
  TableStep(const at::Tensor& entries, const QScheme& x, std::int64_t count, int from, int to)
      : count_(count), x_(from), y_(to) {
    const at::Tensor places = (all_bytes(x) - x.qmin()).to(at::kLong);
    const at::Tensor bytes = bytes_of(entries.cpu().index_select(0, places));
    std::copy_n(bytes.const_data_ptr<std::uint8_t>(), 256, table_);
  }
  void run(Frame& frame) const override {
    const auto* x = frame.as<const std::uint8_t>(x_);
    auto* y = frame.as<std::uint8_t>(y_);
    in_parallel(count_, kGrain, [&](std::int64_t first, std::int64_t last) {
      look_up(table_, {1, last - first, 0, 0}, x + first, y + first);
    });
  }

 private:
  std::uint8_t table_[256];
  std::int64_t count_;
  int x_, y_;
};

bool build_table(Builder& builder, const Node& node) {
  const IntegerForm form = integer_form(node);
  const int x = builder.input(*node.input(0));
  if (x < 0 || !is_byte(form.in[0]) || !is_byte(form.y) || !node.input(1)->is_constant()) return false;
  const DnnlLayout from = builder.layout(x);
  const int y =
      builder.add_slot(DnnlLayout(from.get_dims(), form.y.scheme.is_signed() ? Type::s8 : Type::u8, strides_of(from)));
  builder.add_step(std::make_unique<TableStep>(node.input(1)->tensor(), form.in[0].scheme, elements(from), x, y), node,
                   "own table", {x}, {y});
  builder.define(node.output(), y);
  return true;
}

}  // namespace
}  // namespace quench

QUENCH_REGISTER_ENGINE_OP("quench.QAdd", quench::build_pair)
QUENCH_REGISTER_ENGINE_OP("quench.QMul", quench::build_pair)
QUENCH_REGISTER_ENGINE_OP("quench.QTable", quench::build_table)
