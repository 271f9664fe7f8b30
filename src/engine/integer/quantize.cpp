// quench.Quantize to bytes, by a loop of ours; images become channels-last on the way. quench.Dequantize of bytes.
#include <algorithm>

#include "engine/integer/product.h"
#include "engine/simd/byte_loops.h"
#include "kernels/parallel.h"

namespace quench {
namespace {

using Type = dnnl::memory::data_type;
constexpr std::int64_t kGrain = 16384;  // elements that are worth a thread

ByteQuantizer quantizer_of(const Node& node, const QType& type) {
  return {type.params.scale[0], type.params.zero_point[0], type.scheme.qmin(), type.scheme.qmax(),
          quantize_by_from_name(node.get_string("by", "division")) == QuantizeBy::kDivision};
}

class QuantizeStep : public Task {
 public:
  QuantizeStep(const ByteQuantizer& quantizer, std::int64_t count, int x, int y)
      : quantizer_(quantizer), count_(count), x_(x), y_(y) {}
  void run(Frame& frame) const override {
    in_parallel(count_, kGrain, [&](std::int64_t first, std::int64_t last) {
      byte_loops().quantize(quantizer_, last - first, frame.as<const float>(x_) + first,
                            frame.as<std::uint8_t>(y_) + first);
    });
  }

 private:
  ByteQuantizer quantizer_;
  std::int64_t count_;
  int x_, y_;
};

// From [items, channels, pixels] to [items, pixels, channels].
class QuantizeImageStep : public Task {
 public:
  QuantizeImageStep(const ByteQuantizer& quantizer, Sizes sizes, int x, int y)
      : quantizer_(quantizer), sizes_(std::move(sizes)), x_(x), y_(y) {}

  void run(Frame& frame) const override {
    const std::int64_t items = sizes_[0], channels = sizes_[1], pixels = sizes_[2];
    const std::int64_t pieces = (pixels + kPiece - 1) / kPiece;
    in_parallel(items * pieces, 1, [&](std::int64_t first, std::int64_t last) {
      std::uint8_t codes[kPiece];
      for (std::int64_t at = first; at < last; ++at) {
        const std::int64_t item = at / pieces, begin = at % pieces * kPiece, count = std::min(kPiece, pixels - begin);
        if (channels == 3) {
          const float* x = frame.as<const float>(x_) + item * channels * pixels + begin;
          const float* const planes[3] = {x, x + pixels, x + 2 * pixels};
          byte_loops().quantize_pixels(quantizer_, count, planes,
                                       frame.as<std::uint8_t>(y_) + (item * pixels + begin) * channels);
          continue;
        }
        for (std::int64_t c = 0; c < channels; ++c) {
          byte_loops().quantize(quantizer_, count, frame.as<const float>(x_) + (item * channels + c) * pixels + begin,
                                codes);
          std::uint8_t* to = frame.as<std::uint8_t>(y_) + (item * pixels + begin) * channels + c;
          for (std::int64_t i = 0; i < count; ++i) to[i * channels] = codes[i];
        }
      }
    });
  }

 private:
  static constexpr std::int64_t kPiece = 4096;
  ByteQuantizer quantizer_;
  Sizes sizes_;
  int x_, y_;
};

bool build_quantize(Builder& builder, const Node& node) {
  const QType type = integer_form(node).y;
  const int x = builder.input(*node.input(0));
  if (x < 0 || !has_byte_loops() || !is_byte(type) || !type.scheme.per_tensor()) return false;
  const DnnlLayout& from = builder.layout(x);
  if (from.get_data_type() != Type::f32) return false;
  const ByteQuantizer quantizer = quantizer_of(node, type);
  const Type to = type.scheme.is_signed() ? Type::s8 : Type::u8;
  const Sizes sizes = from.get_dims();
  int y = -1;
  if (sizes.size() == 4 && is_plain(from) && !is_channels_last(from)) {
    y = builder.add_slot(channels_last_layout(sizes, to));
    builder.add_step(
        std::make_unique<QuantizeImageStep>(quantizer, Sizes{sizes[0], sizes[1], sizes[2] * sizes[3]}, x, y), node,
        "own quantization", {x}, {y});
  } else {
    std::int64_t count = 1;
    for (const std::int64_t size : sizes) count *= size;
    y = builder.add_slot(DnnlLayout(sizes, to, strides_of(from)));
    builder.add_step(std::make_unique<QuantizeStep>(quantizer, count, x, y), node, "own quantization", {x}, {y});
  }
  builder.define(node.output(), y);
  return true;
}

// (code - z) * s in float32, by table.
class DequantizeStep : public Task {
 public:
  DequantizeStep(const QType& type, std::int64_t count, int x, int y) : count_(count), x_(x), y_(y) {
    for (int byte = 0; byte < 256; ++byte) {
      const int code = type.scheme.is_signed() ? static_cast<std::int8_t>(byte) : byte;
      table_[byte] = static_cast<float>(code - type.params.zero_point[0]) * type.params.scale[0];
    }
  }
  void run(Frame& frame) const override {
    const auto* x = frame.as<const std::uint8_t>(x_);
    auto* y = frame.as<float>(y_);
    in_parallel(count_, kGrain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) y[i] = table_[x[i]];
    });
  }

 private:
  float table_[256];
  std::int64_t count_;
  int x_, y_;
};

bool build_dequantize(Builder& builder, const Node& node) {
  const QType type = integer_form(node).y;
  const int x = builder.input(*node.input(0));
  if (x < 0 || node.input(0)->is_constant() || !is_byte(type) || !type.scheme.per_tensor()) return false;
  const DnnlLayout from = builder.layout(x);
  std::int64_t count = 1;
  for (const std::int64_t size : from.get_dims()) count *= size;
  const int y = builder.add_slot(DnnlLayout(from.get_dims(), Type::f32, strides_of(from)));
  builder.add_step(std::make_unique<DequantizeStep>(type, count, x, y), node, "own dequantization", {x}, {y});
  builder.define(node.output(), y);
  return true;
}

}  // namespace
}  // namespace quench

QUENCH_REGISTER_ENGINE_OP("quench.Quantize", quench::build_quantize)
QUENCH_REGISTER_ENGINE_OP("quench.Dequantize", quench::build_dequantize)
