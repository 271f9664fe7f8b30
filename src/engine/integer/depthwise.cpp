#include "engine/integer/depthwise.h"

#include "engine/simd/byte_loops.h"
#include "kernels/parallel.h"

namespace quench {
namespace {

using Type = dnnl::memory::data_type;
constexpr std::int32_t kSignShift = 128;  // from signed codes to the unsigned ones that the instruction takes

struct Image {
  std::int64_t items, channels, height, width, out_height, out_width;
};

class DepthwiseStep : public Task {
 public:
  DepthwiseStep(const IntegerForm& form, const ByteProduct& product, const DnnlWindow& window, const Image& image,
                int x, int y)
      : image_(image),
        top_(window.begin[0]),
        x_(x),
        y_(y),
        weights_(static_cast<std::size_t>(packed_depthwise_bytes(image.channels))),
        bias_(padded(product.bias, product.bias.size())),
        multiplier_(padded(product.multiplier, product.bias.size())) {
    pack_depthwise(image.channels, product.weight.data(), weights_.data());
    const bool is_signed = form.in[0].scheme.is_signed();
    if (is_signed) take_back_shift(product.weight.data());
    row_ = {{nullptr, nullptr, nullptr},
            image.channels,
            image.width,
            image.out_width,
            window.strides[0],
            window.begin[1],
            static_cast<std::uint8_t>(form.in[0].params.zero_point[0]),
            is_signed,
            weights_.data(),
            byte_result(product, bias_.data(), multiplier_.data())};
  }

  void run(Frame& frame) const override {
    const auto* x = frame.as<const std::uint8_t>(x_);
    auto* y = frame.as<std::uint8_t>(y_);
    in_parallel(image_.items * image_.out_height, 4, [&](std::int64_t first, std::int64_t last) {
      DepthwiseRow row = row_;
      for (std::int64_t at = first; at < last; ++at) {
        const std::int64_t item = at / image_.out_height, top = at % image_.out_height * row.stride - top_;
        for (std::int64_t k = 0; k < 3; ++k) {
          const bool inside = top + k >= 0 && top + k < image_.height;
          row.rows[k] = inside ? x + (item * image_.height + top + k) * image_.width * image_.channels : nullptr;
        }
        byte_loops().depthwise(row, y + at * image_.out_width * image_.channels);
      }
    });
  }

 private:
  // The loop multiplies code + 128.
  void take_back_shift(const std::int8_t* w) {
    for (std::int64_t c = 0; c < image_.channels; ++c)
      for (std::int64_t k = 0; k < 9; ++k) bias_[static_cast<std::size_t>(c)] -= kSignShift * w[c * 9 + k];
  }

  Image image_;
  std::int64_t top_;
  int x_, y_;
  std::vector<std::int8_t> weights_;
  std::vector<std::int32_t> bias_;
  std::vector<float> multiplier_;
  DepthwiseRow row_;
};

}  // namespace

bool fits_depthwise(const ByteProduct& product, const DnnlWindow& window, std::int64_t groups) {
  const Sizes& sizes = product.sizes;
  return product.has_loop && product.fits_int32 && sizes.size() == 4 && sizes[0] == groups && sizes[1] == 1 &&
         groups > 1 && window.kernel == Sizes{3, 3} && window.dilations == Sizes{0, 0} &&
         window.strides[0] == window.strides[1] && window.strides[0] <= 2;
}

bool add_depthwise(Builder& builder, const Node& node, const IntegerForm& form, const ByteProduct& product,
                   const DnnlWindow& window, int x) {
  const Sizes in = builder.layout(x).get_dims(), out = *sizes_of(node.output().dims());
  const int y = builder.add_slot(channels_last_layout(out, product.y_signed ? Type::s8 : Type::u8));
  const Image image{in[0], in[1], in[2], in[3], out[2], out[3]};
  builder.add_step(std::make_unique<DepthwiseStep>(form, product, window, image, x, y), node, "own depthwise 3x3", {x},
                   {y});
  builder.define(node.output(), y);
  return true;
}

}  // namespace quench
