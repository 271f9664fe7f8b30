#include <gtest/gtest.h>

#include "quant/integer_cases.h"
#include "quench/error.h"
#include "support/message_of.h"

namespace quench {
namespace {

struct Case {
  std::vector<std::int64_t> x, w;
  IntegerWindow window;
  std::int64_t groups = 1;
};

std::vector<Case> cases() {
  return {{{2, 4, 9}, {6, 4, 3}, {{2}, {1, 2}, {}}, 1},
          {{1, 4, 7, 8}, {6, 4, 3, 2}, {{1, 2}, {1, 0, 2, 1}, {2, 1}}, 1},
          {{2, 6, 6, 6}, {9, 2, 3, 3}, {{}, {1, 1, 1, 1}, {}}, 3},
          {{1, 5, 6, 5}, {5, 1, 3, 3}, {{2, 2}, {1, 1, 1, 1}, {}}, 5},
          {{1, 3, 1, 1}, {4, 3, 1, 1}, {}, 1},
          {{1, 2, 4, 5, 6}, {3, 2, 2, 3, 3}, {{1, 2, 1}, {0, 1, 1, 1, 0, 1}, {1, 1, 2}}, 1}};
}

// To three spatial dimensions, the new ones of size 1.
std::vector<std::int64_t> widened(std::vector<std::int64_t> list, std::size_t spatial, std::int64_t fill) {
  if (list.empty()) list.assign(spatial, fill);
  list.insert(list.begin(), 3 - spatial, fill);
  return list;
}

at::Tensor to_five(const at::Tensor& x) {
  at::Tensor result = x.to(at::kLong);
  while (result.dim() < 5) result = result.unsqueeze(2);
  return result.contiguous();
}

// The sum as docs/numerics.md 11 writes it, one product after the other, in int64.
at::Tensor plain_sums(const at::Tensor& x_codes, std::int64_t zx, const at::Tensor& w_codes, const QParams& wp,
                      const at::Tensor& bias, const Case& c, at::IntArrayRef out_sizes) {
  const std::size_t spatial = c.x.size() - 2;
  const at::Tensor x = to_five(x_codes), w = to_five(w_codes), out = to_five(at::zeros(out_sizes, at::kLong));
  const auto xa = x.accessor<std::int64_t, 5>(), wa = w.accessor<std::int64_t, 5>();
  auto oa = out.accessor<std::int64_t, 5>();
  const auto stride = widened(c.window.strides, spatial, 1), dilation = widened(c.window.dilations, spatial, 1);
  std::vector<std::int64_t> begins = c.window.pads;
  begins.resize(begins.size() / 2);
  const auto pad = widened(begins, spatial, 0);
  const std::int64_t per_group = w.size(0) / c.groups;
  const at::Tensor index = at::stack(at::where(out.eq(0)), 1).contiguous();
  for (std::int64_t i = 0; i < index.size(0); ++i) {
    const std::int64_t* o = index.const_data_ptr<std::int64_t>() + 5 * i;
    std::int64_t sum = bias[o[1]].item<std::int64_t>();
    const std::int64_t zw = wp.zero_point[wp.zero_point.size() == 1 ? 0 : static_cast<std::size_t>(o[1])];
    for (std::int64_t k = 0; k < w[0].numel(); ++k) {
      const std::int64_t kw = k % w.size(4), kh = k / w.size(4) % w.size(3);
      const std::int64_t kd = k / (w.size(4) * w.size(3)) % w.size(2), ch = k / w[0][0].numel();
      const std::int64_t d = o[2] * stride[0] + kd * dilation[0] - pad[0],
                         h = o[3] * stride[1] + kh * dilation[1] - pad[1];
      const std::int64_t v = o[4] * stride[2] + kw * dilation[2] - pad[2];
      const bool inside = d >= 0 && d < x.size(2) && h >= 0 && h < x.size(3) && v >= 0 && v < x.size(4);
      const std::int64_t code = inside ? xa[o[0]][o[1] / per_group * w.size(1) + ch][d][h][v] : zx;
      sum += (code - zx) * (wa[o[1]][ch][kd][kh][kw] - zw);
    }
    oa[o[0]][o[1]][o[2]][o[3]][o[4]] = sum;
  }
  return out.view(out_sizes);
}

TEST(IntegerConv, IsTheSumOfProductsRequantized) {
  at::manual_seed(1);
  for (const Case& c : cases())
    for (const bool per_channel : {false, true}) {
      const QType x = type_of("uint8 affine tensor", 0.02F, 113), y = type_of("uint8 affine tensor", 0.3F, 77);
      const QType w = per_channel ? channel_type("int8 affine channel:0", c.w[0], 0.01F, true)
                                  : type_of("int8 affine tensor", 0.015F, 5);
      const at::Tensor xq = random_codes(c.x, x.scheme), wq = random_codes(c.w, w.scheme);
      const at::Tensor bias = at::randint(-5000, 5000, {c.w[0]}, at::kInt);
      for (const Requantize rule : kAllRules) {
        const at::Tensor codes = integer_conv({xq, x}, {wq, w}, bias, c.window, c.groups, {y, {rule}, {}});
        ASSERT_EQ(codes.scalar_type(), at::kByte);
        const at::Tensor sums = plain_sums(xq, 113, wq, w.params, bias, c, codes.sizes());
        const Requantizer requantizer({rule}, {0.02F, w.params.scale, 1}, output_codes(y, {rule}));
        const at::Tensor flat = codes.flatten(2).to(at::kLong), flat_sums = sums.flatten(2);
        for (std::int64_t m = 0; m < flat.size(1); ++m)
          for (std::int64_t i = 0; i < flat.size(2); ++i)
            ASSERT_EQ(flat[0][m][i].item<int>(), requantizer(flat_sums[0][m][i].item<std::int64_t>(), m));
      }
    }
}

TEST(IntegerConv, ClipsAFusedActivation) {
  at::manual_seed(2);
  const QType x = type_of("uint8 affine tensor", 0.02F, 100), w = type_of("int8 tensor", 0.01F);
  const QType y = type_of("uint8 affine tensor", 0.05F, 30);
  const at::Tensor xq = random_codes({1, 3, 8, 8}, x.scheme), wq = random_codes({4, 3, 3, 3}, w.scheme);
  const at::Tensor plain = integer_conv({xq, x}, {wq, w}, {}, {}, 1, {y, {}, {}});
  const at::Tensor relu6 = integer_conv({xq, x}, {wq, w}, {}, {}, 1, {y, {}, {0.0F, 6.0F}});
  EXPECT_TRUE(relu6.equal(plain.clamp(30, 150)));
  EXPECT_LT(plain.min().item<int>(), 30);
  EXPECT_GT(plain.max().item<int>(), 150);
}

TEST(IntegerConv, NamesTheBoundWhenAnAccumulatorOverflows) {
  const QType x = type_of("uint16 symmetric tensor", 0.02F), w = type_of("int8 tensor", 0.01F);
  const at::Tensor xq = store_codes(at::full({1, 300, 2, 2}, 65535, at::kLong), x.scheme);
  const at::Tensor wq = at::full({1, 300, 1, 1}, 127, at::kChar);
  EXPECT_EQ(reason_of([&] { integer_conv({xq, x}, {wq, w}, {}, {}, 1, {w, {}, {}}); }),
            "an accumulator reaches 2496883500 and overflows int32; the bound for 300 products of these codes is "
            "2516544000");
}

TEST(IntegerConv, SaysWhatIsWrong) {
  const QType x = type_of("uint8 affine tensor", 0.02F, 9), w = type_of("int8 tensor", 0.01F);
  const at::Tensor xq = at::zeros({1, 4, 4, 4}, at::kByte), wq = at::zeros({2, 4, 1, 1}, at::kChar);
  const auto conv = [&](const QTensor& a, const QTensor& b, const at::Tensor& bias, std::int64_t groups) {
    return reason_of([&] { integer_conv(a, b, bias, {}, groups, {x, {}, {}}); });
  };
  EXPECT_EQ(conv({xq, x}, {wq, w}, {}, 1), "(no error)");
  EXPECT_EQ(conv({xq, x}, {wq, w}, {}, 2), "Conv of 4 channels in 2 groups with weights for 4 per group");
  EXPECT_EQ(conv({xq, x}, {wq, w}, at::zeros({2}), 1),
            "the bias must be int32 with an entry for each of 2 output channels");
  const QType wrong_axis = channel_type("int8 channel:1", 4, 0.01F), grouped{QScheme::parse("int4 group:1:2"), {}};
  EXPECT_EQ(conv({xq, x}, {wq, wrong_axis}, {}, 1),
            "the scheme 'int8 symmetric channel:1' must have axis 0 here, that of output channels");
  EXPECT_EQ(conv({xq, wrong_axis}, {wq, w}, {}, 1), "the scheme 'int8 symmetric channel:1' must be per tensor here");
  EXPECT_EQ(conv({xq, x}, {wq, grouped}, {}, 1), "integer ops do not take the scheme 'int4 symmetric group:1:2'");
}

}  // namespace
}  // namespace quench
