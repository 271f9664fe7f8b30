#include "engine/integer/own_product.h"

#include <ATen/ATen.h>

#include <functional>
#include <numeric>

#include "engine/simd/byte_product.h"
#include "kernels/parallel.h"

namespace quench {
namespace {

using Type = dnnl::memory::data_type;
constexpr std::int64_t kGrain = std::int64_t{1} << 20;    // products that are worth a thread
constexpr std::int64_t kShallow = 320, kFirstLayer = 64;  // codes of a window
constexpr std::int64_t kFewResults = 24;                  // of so few, threads take channels

// [channels, kernel rows, kernel columns, input channels]: the order in which a window is read.
at::Tensor in_reading_order(const ByteProduct& product) {
  at::Tensor weight = weight_tensor(product);
  if (weight.dim() > 2) weight = weight.movedim(1, -1);
  return weight.contiguous().flatten(1);
}

PixelWalk walk_of(const Sizes& x, const Sizes& y, const DnnlWindow& window) {
  const std::size_t spatial = x.size() - 2;
  const std::int64_t channels = x[1];
  if (spatial == 0) return {nullptr, 1, 1, 0, 0, channels, 1, 0, channels};
  const bool has_rows = spatial == 2;
  const std::int64_t row = x.back() * channels;  // bytes
  const std::int64_t rows = has_rows ? x[2] : 1, row_stride = has_rows ? window.strides[0] : 1;
  return {nullptr,
          y.back(),
          has_rows ? y[2] : 1,
          window.strides.back() * channels,
          row_stride * row,
          rows * row,
          has_rows ? window.kernel[0] : 1,
          has_rows ? (window.dilations[0] + 1) * row : 0,
          window.kernel.back() * channels};
}

// In the order of the loop's lanes.
template <typename T>
std::vector<T> by_lane(const std::vector<T>& values, std::int64_t channels) {
  std::vector<T> lanes(static_cast<std::size_t>(product_lanes(channels)), T{});
  for (std::int64_t c = 0; c < channels; ++c)
    lanes[static_cast<std::size_t>(product_lane(channels, c))] =
        values[values.size() == 1 ? 0 : static_cast<std::size_t>(c)];
  return lanes;
}

class OwnProductStep : public Task {
 public:
  OwnProductStep(const ByteProduct& product, bool x_signed, const PixelWalk& walk, dnnl::memory weights)
      : weights_(std::move(weights)),
        bias_(by_lane(product.bias_for(x_signed), product.sizes[0])),
        multiplier_(by_lane(product.multiplier, product.sizes[0])),
        loop_{walk, product.sizes[0], x_signed, static_cast<const std::int8_t*>(weights_.get_data_handle()),
              byte_result(product, bias_.data(), multiplier_.data())} {}

  void connect(std::int64_t results, int x, int y) {
    results_ = results;
    x_ = x;
    y_ = y;
  }

  void run(Frame& frame) const override {
    ByteProductLoop loop = loop_;
    loop.walk.x = frame.as<const std::uint8_t>(x_);
    auto* y = frame.as<std::uint8_t>(y_);
    const std::int64_t blocks = product_blocks(loop.channels), each = loop.walk.runs * loop.walk.run_bytes;
    if (results_ <= kFewResults) {
      const std::int64_t grain = std::max<std::int64_t>(kGrain / (results_ * each * 64), 1);
      return in_parallel(blocks, grain, [&](std::int64_t first, std::int64_t last) {
        multiply_bytes(loop, {0, results_, first, last}, y);
      });
    }
    in_parallel(results_, std::max<std::int64_t>(kGrain / (each * loop.channels), kFewResults),
                [&](std::int64_t first, std::int64_t last) { multiply_bytes(loop, {first, last, 0, blocks}, y); });
  }

 private:
  dnnl::memory weights_;
  std::vector<std::int32_t> bias_;
  std::vector<float> multiplier_;
  ByteProductLoop loop_;
  std::int64_t results_ = 0;
  int x_ = -1, y_ = -1;
};

}  // namespace

bool fits_own_product(const ByteProduct& product, const DnnlWindow& window, std::int64_t groups) {
  const bool fits = product.has_loop && product.fits_int32 && groups == 1 && product.sizes.size() <= 4 &&
                    (window.dilations.empty() || window.dilations.back() == 0);
  const std::int64_t pixels =
      std::accumulate(window.kernel.begin(), window.kernel.end(), std::int64_t{1}, std::multiplies<>());
  if (!fits || pixels == 1) return fits;
  // Deep windows: oneDNN multiplies as fast, and skips the pads.
  const std::int64_t run = product.sizes[1] * window.kernel.back(), padded = (run + 3) / 4 * 4;
  const std::int64_t depth = pixels / window.kernel.back() * padded;
  return depth <= kFirstLayer || (depth <= kShallow && padded == run);
}

int add_own_product(Builder& builder, const Node& node, const IntegerForm& form, const ByteProduct& product,
                    const DnnlWindow& window, int x) {
  if (product.sizes[1] % 4 != 0) x = builder.own_memory(x);  // the loop reads up to three bytes further
  const Sizes in = builder.layout(x).get_dims();
  const Sizes out = in.size() == 2 ? Sizes{in[0], product.sizes[0]} : *sizes_of(node.output().dims());
  const PixelWalk walk = walk_of(in, out, window);
  const std::int64_t bytes = packed_product_bytes(product.sizes[0], walk.runs, walk.run_bytes);
  dnnl::memory weights = builder.weights().get(node.name() + ".lanes", plain_layout({bytes}, Type::s8), [&] {
    at::Tensor packed = at::empty({bytes}, at::kChar);
    pack_product(in_reading_order(product).const_data_ptr<std::int8_t>(), product.sizes[0], walk.runs, walk.run_bytes,
                 packed.mutable_data_ptr<std::int8_t>());
    return packed;
  });
  const int y = builder.add_slot(channels_last_layout(out, product.y_signed ? Type::s8 : Type::u8));
  auto step = std::make_unique<OwnProductStep>(product, form.in[0].scheme.is_signed(), walk, std::move(weights));
  step->connect(in[0] * walk.width * walk.height, x, y);
  builder.add_step(std::move(step), node, "own product", {x}, {y});
  return y;
}

}  // namespace quench
