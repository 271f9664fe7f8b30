#include <gtest/gtest.h>

#include "quant/integer_cases.h"
#include "quench/error.h"
#include "support/expect_error.h"

namespace quench {
namespace {

struct Case {
  std::vector<std::int64_t> x, w;
  TransposedWindow window;
  std::int64_t groups = 1;
};

std::vector<Case> cases() {
  return {{{2, 4, 5}, {4, 3, 3}, {{{2}, {1, 0}, {}}, {1}}, 1},
          {{1, 4, 4, 5}, {4, 3, 3, 2}, {{{2, 1}, {1, 0, 0, 1}, {1, 2}}, {}}, 1},
          {{2, 6, 3, 3}, {6, 2, 2, 2}, {{{2, 2}, {}, {}}, {}}, 3},
          {{1, 4, 2, 3, 3}, {4, 1, 2, 2, 3}, {{{1, 2, 2}, {0, 0, 1, 0, 0, 1}, {}}, {0, 1, 1}}, 4}};
}

// Every input element spread over the output, one product after the other, in int64.
at::Tensor plain_sums(const at::Tensor& x, const at::Tensor& w, const Case& c, at::IntArrayRef sizes) {
  const std::size_t spatial = c.x.size() - 2;
  const at::Tensor out = at::zeros(sizes, at::kLong);
  const auto at_or = [](const std::vector<std::int64_t>& list, std::size_t i, std::int64_t other) {
    return list.empty() ? other : list.at(i);
  };
  const at::Tensor places = at::stack(at::where(at::ones_like(x)), 1);
  const at::Tensor taps = at::stack(at::where(at::ones_like(w[0])), 1);
  for (std::int64_t i = 0; i < places.size(0); ++i)
    for (std::int64_t k = 0; k < taps.size(0); ++k) {
      const std::int64_t channel = places[i][1].item<std::int64_t>(), group = channel / (c.x[1] / c.groups);
      at::Tensor to = out[places[i][0].item<std::int64_t>()][group * c.w[1] + taps[k][0].item<std::int64_t>()];
      at::Tensor weight = w[channel][taps[k][0].item<std::int64_t>()];
      at::Tensor value = x[places[i][0].item<std::int64_t>()][channel];
      bool inside = true;
      for (std::size_t d = 0; d < spatial && inside; ++d) {
        const auto axis = static_cast<std::int64_t>(d);
        const std::int64_t from = places[i][axis + 2].item<std::int64_t>(),
                           tap = taps[k][axis + 1].item<std::int64_t>();
        const std::int64_t at = from * at_or(c.window.window.strides, d, 1) +
                                tap * at_or(c.window.window.dilations, d, 1) - at_or(c.window.window.pads, d, 0);
        inside = at >= 0 && at < to.size(0);
        if (inside) to = to[at], weight = weight[tap], value = value[from];
      }
      if (inside) to += weight * value;
    }
  return out;
}

at::Tensor centred(const at::Tensor& codes, const QType& type, std::int64_t axis) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(codes.dim()), 1);
  shape[static_cast<std::size_t>(axis)] = -1;
  const at::Tensor zero = at::tensor(at::ArrayRef<std::int32_t>(type.params.zero_point)).to(at::kLong);
  return codes.to(at::kLong) - (zero.numel() == 1 ? zero : zero.reshape(shape));
}

TEST(IntegerConvTranspose, IsTheSumOfItsProducts) {
  at::manual_seed(3);
  for (const Case& c : cases()) {
    const QType x_type = type_of("uint8 affine tensor", 0.02F, 120);
    const QType w_type = channel_type("int8 affine channel:1", c.w[1], 0.01F, true);
    const QType y_type = type_of("uint8 affine tensor", 0.3F, 130);
    const at::Tensor x = random_codes(c.x, x_type.scheme), w = random_codes(c.w, w_type.scheme);
    const at::Tensor bias = at::randint(-5000, 5000, {c.w[1] * c.groups}, at::kInt);
    for (const Requantize rule : kAllRules) {
      const Output y{y_type, {rule}, {}};
      const at::Tensor found = integer_conv_transpose({x, x_type}, {w, w_type}, bias, c.window, c.groups, y);
      const at::Tensor sums = plain_sums(centred(x, x_type, 1), centred(w, w_type, 1), c, found.sizes());
      std::vector<std::int64_t> shape(c.x.size(), 1);
      shape[1] = -1;
      const at::Tensor all = (sums + bias.to(at::kLong).reshape(shape)).contiguous();
      AccumulatorStep step{0.02F, {}, 1};
      for (std::int64_t g = 0; g < c.groups; ++g)
        step.b.insert(step.b.end(), w_type.params.scale.begin(), w_type.params.scale.end());
      const Requantizer requantizer({rule}, step, output_codes(y_type, {rule}));
      const at::Tensor flat = found.to(at::kInt).contiguous().flatten();
      ASSERT_EQ(found.size(1), c.w[1] * c.groups);
      for (std::int64_t i = 0; i < flat.numel(); ++i) {
        const auto channel = static_cast<std::size_t>(i / all.stride(1) % all.size(1));
        ASSERT_EQ(flat[i].item<int>(), requantizer(all.flatten()[i].item<std::int64_t>(), channel)) << name_of(rule);
      }
    }
  }
}

TEST(IntegerConvTranspose, RefusesWeightsOfOtherChannels) {
  const QType type = type_of("int8 symmetric tensor", 0.1F);
  const at::Tensor x = random_codes({1, 3, 4}, type.scheme), w = random_codes({4, 2, 3}, type.scheme);
  EXPECT_ERROR(integer_conv_transpose({x, type}, {w, type}, {}, {}, 1, {type, {}, {}}),
               "ConvTranspose of 3 channels in 1 groups with weights for 4");
}

}  // namespace
}  // namespace quench
