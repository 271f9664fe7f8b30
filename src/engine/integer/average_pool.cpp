// quench.QAveragePool on bytes, over two dimensions. Under mlas ONNX Runtime averages in float32, term by term; the
// other rules requantize sums of integers.
#include <map>

#include "engine/integer/product.h"
#include "engine/steps/window.h"
#include "kernels/parallel.h"

namespace quench {
namespace {

using Type = dnnl::memory::data_type;

struct Geometry {
  Sizes x, y;  // [N, C, H, W]
  DnnlWindow window;
  bool counts_pads = false;
};

// The part of a window that is not padding.
struct Span {
  std::int64_t first, last, counted;
};
Span span_of(const Geometry& g, std::size_t d, std::int64_t at) {
  const std::int64_t begin = at * g.window.strides[d] - g.window.begin[d], size = g.x[d + 2];
  const std::int64_t first = std::max<std::int64_t>(begin, 0), last = std::min(begin + g.window.kernel[d], size);
  return {first, last, g.counts_pads ? g.window.kernel[d] : last - first};
}

class AveragePoolStep : public Task {
 public:
  AveragePoolStep(const IntegerForm& form, Geometry geometry, int x, int y)
      : form_(form),
        geometry_(std::move(geometry)),
        x_(x),
        y_(y),
        codes_(output_codes(form.y, form.arithmetic, form.clip)),
        by_float_(is_mlas(form.arithmetic.rule)) {
    const std::int64_t most = geometry_.window.kernel[0] * geometry_.window.kernel[1];
    for (std::int64_t count = 1; count <= most; ++count)
      requantizers_.emplace_back(form.arithmetic, AccumulatorStep{form.in[0].params.scale[0], {1.0F}, count}, codes_);
  }

  void run(Frame& frame) const override {
    in_parallel(geometry_.y[0] * geometry_.y[2], 1, [&](std::int64_t first, std::int64_t last) {
      std::vector<float> sums(static_cast<std::size_t>(geometry_.x[1]));
      for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t item = row / geometry_.y[2];
        const auto* from = frame.as<const std::uint8_t>(x_) + item * geometry_.x[2] * geometry_.x[3] * geometry_.x[1];
        auto* to = frame.as<std::uint8_t>(y_) + row * geometry_.y[3] * geometry_.y[1];
        for (std::int64_t at = 0; at < geometry_.y[3]; ++at)
          average(from, span_of(geometry_, 0, row % geometry_.y[2]), span_of(geometry_, 1, at), sums,
                  to + at * geometry_.y[1]);
      }
    });
  }

 private:
  // Sums of float32 are in order of the window; sums of codes are whole numbers below 2^24, which float32 holds.
  template <typename Code>
  void add_pixel(const std::uint8_t* pixel, std::vector<float>& sums) const {
    const auto* codes = reinterpret_cast<const Code*>(pixel);
    const std::int32_t zero = form_.in[0].params.zero_point[0];
    const float scale = by_float_ ? form_.in[0].params.scale[0] : 1.0F;
    for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += static_cast<float>(codes[c] - zero) * scale;
  }

  void average(const std::uint8_t* from, const Span& rows, const Span& columns, std::vector<float>& sums,
               std::uint8_t* to) const {
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (std::int64_t h = rows.first; h < rows.last; ++h)
      for (std::int64_t w = columns.first; w < columns.last; ++w) {
        const std::uint8_t* pixel = from + (h * geometry_.x[3] + w) * geometry_.x[1];
        form_.in[0].scheme.is_signed() ? add_pixel<std::int8_t>(pixel, sums) : add_pixel<std::uint8_t>(pixel, sums);
      }
    const std::int64_t count = rows.counted * columns.counted;
    const Requantizer& requantizer = requantizers_[static_cast<std::size_t>(count - 1)];
    for (std::size_t c = 0; c < sums.size(); ++c)
      to[c] = static_cast<std::uint8_t>(by_float_
                                            ? codes_.nearest_shifted(sums[c] / static_cast<float>(count) / codes_.scale)
                                            : requantizer(static_cast<std::int64_t>(sums[c])));
  }

  IntegerForm form_;
  Geometry geometry_;
  int x_, y_;
  OutputCodes codes_;
  bool by_float_;
  std::vector<Requantizer> requantizers_;  // by the number of elements, less one
};

// A window over all of x, which ONNX Runtime averages by its other kernel, is left to the plain arithmetic, as is
// LiteRT's average of codes of one type.
bool is_plain_case(const IntegerForm& form, const Geometry& g) {
  const bool whole = g.window.kernel[0] == g.x[2] && g.window.kernel[1] == g.x[3];
  return whole || form.arithmetic.rule == Requantize::kTflite;
}

bool has_empty_window(const Geometry& g) {
  for (const std::size_t d : {0U, 1U})
    for (std::int64_t at = 0; at < g.y[d + 2]; ++at)
      if (const Span span = span_of(g, d, at); span.first >= span.last) return true;
  return false;
}

bool build_average_pool(Builder& builder, const Node& node) {
  const IntegerForm form = integer_form(node);
  const auto y_sizes = sizes_of(node.output().dims());
  const int given = builder.input(*node.input(0));
  const bool bytes = is_byte(form.in[0]) && is_byte(form.y);
  if (given < 0 || !y_sizes || y_sizes->size() != 4 || !bytes || node.get_int("ceil_mode", 0) != 0) return false;
  Geometry geometry{builder.layout(given).get_dims(), *y_sizes, {}, node.get_int("count_include_pad", 0) != 0};
  geometry.window = dnnl_window(node, {}, geometry.x, geometry.y);
  const bool dilated = geometry.window.dilations != Sizes{0, 0};
  constexpr std::int64_t kMostTerms = 1 << 16;  // 2^8 * 2^16 is below 2^24
  if (dilated || geometry.window.kernel[0] * geometry.window.kernel[1] >= kMostTerms || is_plain_case(form, geometry) ||
      has_empty_window(geometry))
    return false;
  const int x = builder.input_as(given, channels_last_layout(geometry.x, builder.layout(given).get_data_type()));
  const int y = builder.add_slot(channels_last_layout(*y_sizes, form.y.scheme.is_signed() ? Type::s8 : Type::u8));
  builder.add_step(std::make_unique<AveragePoolStep>(form, geometry, x, y), node, "own average pool", {x}, {y});
  builder.define(node.output(), y);
  return true;
}

}  // namespace
}  // namespace quench

QUENCH_REGISTER_ENGINE_OP("quench.QAveragePool", quench::build_average_pool)
