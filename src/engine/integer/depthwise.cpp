#include "engine/integer/depthwise.h"

#include "engine/simd/depthwise.h"
#include "kernels/parallel.h"

namespace quench {
namespace {

using Type = dnnl::memory::data_type;

struct Image {
  std::int64_t items, channels, height, width, out_height, out_width;
};

// Bias or multiplier of the loop's lanes.
template <typename T>
std::vector<T> by_lane(const std::vector<T>& values, std::int64_t channels) {
  std::vector<T> lanes;
  for (std::int64_t i = 0; i < depthwise_blocks(channels) * kDepthwiseLanes; ++i) {
    const std::int64_t channel = depthwise_channel(channels, i / kDepthwiseLanes, i % kDepthwiseLanes);
    lanes.push_back(channel < 0 ? T{} : values[values.size() == 1 ? 0 : static_cast<std::size_t>(channel)]);
  }
  return lanes;
}

class DepthwiseStep : public Task {
 public:
  DepthwiseStep(const IntegerForm& form, const ByteProduct& product, const DnnlWindow& window, const Image& image,
                int x, int y)
      : image_(image),
        top_(window.begin[0]),
        x_(x),
        y_(y),
        weights_(static_cast<std::size_t>(depthwise_blocks(image.channels) * kDepthwiseBlockBytes)),
        bias_(by_lane(product.bias_for(form.in[0].scheme.is_signed()), image.channels)),
        multiplier_(by_lane(product.multiplier, image.channels)),
        padding_(static_cast<std::size_t>(image.channels) + 64,
                 static_cast<std::uint8_t>(form.in[0].params.zero_point[0])) {
    pack_depthwise(image.channels, product.weight.data(), weights_.data());
    rows_ = {{},
             {},
             image.channels,
             image.width,
             image.out_width,
             window.strides[0],
             window.begin[1],
             padding_.data(),
             form.in[0].scheme.is_signed(),
             weights_.data(),
             byte_result(product, bias_.data(), multiplier_.data())};
  }

  void run(Frame& frame) const override {
    const auto* x = frame.as<const std::uint8_t>(x_);
    auto* y = frame.as<std::uint8_t>(y_);
    const std::int64_t most = rows_.stride == 1 ? kMostDepthwiseRows : 1, parts = (image_.out_height + most - 1) / most;
    in_parallel(image_.items * parts, 4 / most, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t at = first; at < last; ++at) {
        const std::int64_t item = at / parts, row = at % parts * most;
        const int count = static_cast<int>(std::min(most, image_.out_height - row));
        depthwise(rows_at(x + item * image_.height * image_.width * image_.channels, row), count,
                  y + (item * image_.out_height + row) * image_.out_width * image_.channels);
      }
    });
  }

 private:
  DepthwiseRows rows_at(const std::uint8_t* image, std::int64_t row) const {
    DepthwiseRows rows = rows_;
    const std::int64_t top = row * rows.stride - top_;
    for (std::int64_t k = 0; k < kMostDepthwiseRows + 2; ++k) {
      const bool inside = top + k >= 0 && top + k < image_.height;
      rows.row[k] = inside ? image + (top + k) * image_.width * image_.channels : padding_.data();
      rows.step[k] = inside ? image_.channels : 0;
    }
    return rows;
  }

  Image image_;
  std::int64_t top_;
  int x_, y_;
  std::vector<std::int8_t> weights_;
  std::vector<std::int32_t> bias_;
  std::vector<float> multiplier_;
  std::vector<std::uint8_t> padding_;
  DepthwiseRows rows_;
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
