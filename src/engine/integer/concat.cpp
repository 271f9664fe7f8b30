// quench.QConcat of bytes along the channels: each operand through a table of its own, made by the plain definition.
#include <ATen/ATen.h>

#include <array>
#include <cstring>

#include "engine/integer/product.h"
#include "engine/simd/look_up.h"
#include "kernels/parallel.h"
#include "quant/integer_ops.h"

namespace quench {
namespace {

using Type = dnnl::memory::data_type;

struct Operand {
  int slot;
  std::int64_t channels;
  bool copies;  // codes stay as they are
  std::array<std::uint8_t, 256> table;
};

std::array<std::uint8_t, 256> table_of(const QType& x, const IntegerForm& form) {
  const at::Tensor bytes =
      bytes_of(integer_concat({{all_bytes(x.scheme), x}}, 0, {form.y, form.arithmetic, form.clip}));
  std::array<std::uint8_t, 256> table;
  std::copy_n(bytes.const_data_ptr<std::uint8_t>(), 256, table.begin());
  return table;
}

bool is_identity(const std::array<std::uint8_t, 256>& table, const QScheme& scheme) {
  for (int code = scheme.qmin(); code <= scheme.qmax(); ++code)
    if (table[static_cast<std::uint8_t>(code)] != static_cast<std::uint8_t>(code)) return false;
  return true;
}

class ConcatStep : public Task {
 public:
  ConcatStep(std::vector<Operand> operands, std::int64_t pixels, int y)
      : operands_(std::move(operands)), pixels_(pixels), y_(y) {
    for (const Operand& one : operands_) channels_ += one.channels;
  }
  void run(Frame& frame) const override {
    in_parallel(pixels_, 256, [&](std::int64_t first, std::int64_t last) {
      std::int64_t before = 0;
      for (const Operand& one : operands_) {
        const auto* from = frame.as<const std::uint8_t>(one.slot) + first * one.channels;
        auto* to = frame.as<std::uint8_t>(y_) + first * channels_ + before;
        if (one.copies) {
          for (std::int64_t p = 0; p < last - first; ++p)
            std::memcpy(to + p * channels_, from + p * one.channels, static_cast<std::size_t>(one.channels));
        } else {
          look_up(one.table.data(), {last - first, one.channels, one.channels, channels_}, from, to);
        }
        before += one.channels;
      }
    });
  }

 private:
  std::vector<Operand> operands_;
  std::int64_t pixels_, channels_ = 0;
  int y_;
};

bool build_concat(Builder& builder, const Node& node) {
  const IntegerForm form = integer_form(node);
  const auto sizes = sizes_of(node.output().dims());
  if (!sizes || sizes->size() < 2 || !is_byte(form.y) || node.require_int("axis") != 1) return false;
  std::vector<Operand> operands;
  std::vector<int> reads;
  for (std::size_t i = 0; i < form.in.size(); ++i) {
    const Value& value = *node.input(form.slots[i]);
    const int given = value.is_constant() || !is_byte(form.in[i]) ? -1 : builder.input(value);
    if (given < 0) return false;
    const Sizes own = builder.layout(given).get_dims();
    const int slot = builder.input_as(given, channels_last_layout(own, builder.layout(given).get_data_type()));
    const auto table = table_of(form.in[i], form);
    operands.push_back({slot, own[1], is_identity(table, form.in[i].scheme), table});
    reads.push_back(slot);
  }
  std::int64_t pixels = 1;
  for (const std::int64_t size : *sizes) pixels *= size;
  pixels /= (*sizes)[1];
  const int y = builder.add_slot(channels_last_layout(*sizes, form.y.scheme.is_signed() ? Type::s8 : Type::u8));
  builder.add_step(std::make_unique<ConcatStep>(std::move(operands), pixels, y), node, "own concat", reads, {y});
  builder.define(node.output(), y);
  return true;
}

}  // namespace
}  // namespace quench

QUENCH_REGISTER_ENGINE_OP("quench.QConcat", quench::build_concat)
