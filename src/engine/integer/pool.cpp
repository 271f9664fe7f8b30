// quench.QGlobalAveragePool on bytes: sums by a loop of ours, then the plain requantization, one per channel.
#include "engine/integer/product.h"
#include "engine/simd/byte_loops.h"
#include "kernels/parallel.h"

namespace quench {
namespace {

using Type = dnnl::memory::data_type;

class GlobalAverageStep : public Task {
 public:
  GlobalAverageStep(const IntegerForm& form, Sizes sizes, int x, int y)
      : sizes_(std::move(sizes)),
        x_(x),
        y_(y),
        is_signed_(form.in[0].scheme.is_signed()),
        zero_(sizes_[2] * form.in[0].params.zero_point[0]),
        requantizer_(form.arithmetic, {form.in[0].params.scale[0], {1.0F}, sizes_[2]},
                     output_codes(form.y, form.arithmetic, form.clip)) {}

  void run(Frame& frame) const override {
    const std::int64_t items = sizes_[0], channels = sizes_[1], pixels = sizes_[2];
    in_parallel(items, 1, [&](std::int64_t first, std::int64_t last) {
      std::vector<std::int32_t> sums(static_cast<std::size_t>(channels));
      for (std::int64_t item = first; item < last; ++item) {
        byte_loops().sum_rows(pixels, channels, is_signed_, frame.as<const std::uint8_t>(x_) + item * pixels * channels,
                              sums.data());
        auto* to = frame.as<std::uint8_t>(y_) + item * channels;
        for (std::int64_t c = 0; c < channels; ++c)
          to[c] = static_cast<std::uint8_t>(requantizer_(sums[static_cast<std::size_t>(c)] - zero_));
      }
    });
  }

 private:
  Sizes sizes_;  // items, channels, pixels
  int x_, y_;
  bool is_signed_;
  std::int64_t zero_;
  Requantizer requantizer_;
};

bool build_global_average_pool(Builder& builder, const Node& node) {
  const IntegerForm form = integer_form(node);
  const auto y_sizes = sizes_of(node.output().dims());
  int x = builder.input(*node.input(0));
  if (x < 0 || !y_sizes || !has_byte_loops() || !is_byte(form.in[0]) || !is_byte(form.y)) return false;
  const Sizes sizes = builder.layout(x).get_dims();
  x = builder.input_as(x, channels_last_layout(sizes, builder.layout(x).get_data_type()));
  std::int64_t pixels = 1;
  for (std::size_t d = 2; d < sizes.size(); ++d) pixels *= sizes[d];
  if (pixels > (std::int64_t{1} << 22)) return false;  // sums of bytes fit int32 up to here
  const int y = builder.add_slot(channels_last_layout(*y_sizes, form.y.scheme.is_signed() ? Type::s8 : Type::u8));
  builder.add_step(std::make_unique<GlobalAverageStep>(form, Sizes{sizes[0], sizes[1], pixels}, x, y), node,
                   "own global average", {x}, {y});
  builder.define(node.output(), y);
  return true;
}

}  // namespace
}  // namespace quench

QUENCH_REGISTER_ENGINE_OP("quench.QGlobalAveragePool", quench::build_global_average_pool)
