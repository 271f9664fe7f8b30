#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include "core/cpu_quirks.h"
#include "ops/checked_op.h"
#include "ops/run_op.h"
#include "quench/op.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;

// A convolution by its definition: x [N, C, H, W], w [M, C/g, kH, kW].
struct PlainConv {
  Ints strides{1, 1}, dilations{1, 1}, pads{0, 0, 0, 0};
  std::int64_t groups = 1;

  double at(const at::Tensor& x, const at::Tensor& w, const Ints& y) const {
    const std::int64_t per_group = w.size(0) / groups, group = y[1] / per_group;
    double sum = 0.0;
    for (std::int64_t c = 0; c < w.size(1); ++c)
      for (std::int64_t i = 0; i < w.size(2); ++i)
        for (std::int64_t j = 0; j < w.size(3); ++j) {
          const std::int64_t row = y[2] * strides[0] + i * dilations[0] - pads[0];
          const std::int64_t column = y[3] * strides[1] + j * dilations[1] - pads[1];
          if (row < 0 || column < 0 || row >= x.size(2) || column >= x.size(3)) continue;
          sum += x[y[0]][group * w.size(1) + c][row][column].item<double>() * w[y[1]][c][i][j].item<double>();
        }
    return sum;
  }

  at::Tensor operator()(const at::Tensor& x, const at::Tensor& w) const {
    const std::int64_t height = (x.size(2) + pads[0] + pads[2] - (w.size(2) - 1) * dilations[0] - 1) / strides[0] + 1;
    const std::int64_t width = (x.size(3) + pads[1] + pads[3] - (w.size(3) - 1) * dilations[1] - 1) / strides[1] + 1;
    at::Tensor y = at::zeros({x.size(0), w.size(0), height, width}, at::kDouble);
    for (std::int64_t n = 0; n < y.size(0); ++n)
      for (std::int64_t m = 0; m < y.size(1); ++m)
        for (std::int64_t i = 0; i < height; ++i)
          for (std::int64_t j = 0; j < width; ++j) y[n][m][i][j] = at(x, w, {n, m, i, j});
    return y;
  }
};

TEST(Conv, IsItsDefinitionWithUnequalPadsStridesDilationsAndGroups) {
  const at::Tensor x = at::randn({2, 4, 6, 7}, at::kDouble), w = at::randn({6, 2, 3, 2}, at::kDouble);
  const PlainConv plain{{2, 1}, {1, 2}, {1, 0, 2, 1}, 2};
  const at::Tensor y = run_checked(
      "Conv", {x, w},
      {{"strides", plain.strides}, {"dilations", plain.dilations}, {"pads", plain.pads}, {"group", plain.groups}});
  EXPECT_LT(distance(y, plain(x, w)), 1e-12);
}

TEST(Conv, AutoPadPutsTheOddPadWhereItsNameSays) {
  const at::Tensor x = at::randn({1, 2, 5, 6}, at::kDouble), w = at::randn({3, 2, 2, 3}, at::kDouble);
  PlainConv plain{{1, 2}, {1, 1}, {0, 0, 1, 1}};
  const Attr strides = plain.strides;
  EXPECT_LT(distance(run_checked("Conv", {x, w}, {{"auto_pad", "SAME_UPPER"}, {"strides", strides}}), plain(x, w)),
            1e-12);
  plain.pads = {1, 1, 0, 0};
  EXPECT_LT(distance(run_checked("Conv", {x, w}, {{"auto_pad", "SAME_LOWER"}, {"strides", strides}}), plain(x, w)),
            1e-12);
  plain.pads = {0, 0, 0, 0};
  EXPECT_LT(distance(run_checked("Conv", {x, w}, {{"auto_pad", "VALID"}, {"strides", strides}}), plain(x, w)), 1e-12);
}

TEST(Conv, WorksInOneAndThreeDimsAndKeepsChannelsLast) {
  const at::Tensor b = at::randn({4});
  const at::Tensor x1 = at::randn({2, 3, 9}), w1 = at::randn({4, 3, 3});
  EXPECT_EQ(distance(run_checked("Conv", {x1, w1, b}, {{"pads", Ints{1, 1}}}), at::conv1d(x1, w1, b, 1, 1)), 0.0);
  const at::Tensor x3 = at::randn({2, 3, 5, 4, 6}), w3 = at::randn({4, 3, 3, 1, 2});
  EXPECT_EQ(distance(run_checked("Conv", {x3, w3, b}), at::conv3d(x3, w3, b)), 0.0);
  const at::Tensor x2 = at::randn({2, 3, 8, 8}).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor y = run_checked("Conv", {x2, at::randn({4, 3, 3, 3})}, {{"pads", Ints{0, 1, 1, 1}}});
  EXPECT_TRUE(y.is_contiguous(at::MemoryFormat::ChannelsLast));
}

TEST(Conv, HasTheGradientOfEveryInput) {
  const at::Tensor x = at::randn({2, 4, 5, 5}, at::kDouble), b = at::randn({4}, at::kDouble);
  const CheckedOp conv{"Conv", {{"pads", Ints{1, 0, 0, 1}}, {"group", std::int64_t{2}}}};
  EXPECT_LT(gradient_error(conv, {x, at::randn({4, 2, 3, 3}, at::kDouble), b}, 3), 1e-6);
  const CheckedOp transposed{"ConvTranspose", {{"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 0, 1}}}};
  EXPECT_LT(gradient_error(transposed, {x, at::randn({4, 4, 3, 3}, at::kDouble), b}, 3), 1e-6);
}

TEST(Conv, InfersSymbolicShapes) {
  const auto type = [](Dims dims) { return TypeInfo::tensor(DType::kFloat, std::move(dims)); };
  const Dim n = Dim::symbol("N"), h = Dim::symbol("H"), w = Dim::symbol("32*W");
  EXPECT_EQ(inferred_type("Conv", {type({n, 3, h, w}), type({8, 3, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}}),
            "float[N, 8, H, 32*W]");
  EXPECT_EQ(inferred_type("Conv", {type({n, 3, h, w}), type({8, 3, 3, 3})},
                          {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}}),
            "float[N, 8, ?, 16*W]");
  EXPECT_EQ(inferred_type("ConvTranspose", {type({n, 3, h, w}), type({3, 8, 2, 2})}, {{"strides", Ints{2, 2}}}),
            "float[N, 8, 2*H, 64*W]");
}

TEST(Conv, RefusesListsThatDoNotFit) {
  const at::Tensor x = at::randn({1, 1, 4, 4}), w = at::randn({1, 1, 3, 3});
  EXPECT_NE(error_of({"Conv", {{"pads", Ints{1, 1}}}}, {x, w}).find("for a kernel of rank 2 there must be"),
            std::string::npos);
  EXPECT_NE(error_of({"Conv", {{"auto_pad", "SAME"}}}, {x, w}).find("unknown auto_pad 'SAME'; known: NOTSET"),
            std::string::npos);
  EXPECT_NE(error_of({"Conv", {}}, {x, at::randn({1, 1, 5, 5})}).find("does not fit into 4"), std::string::npos);
}

TEST(Conv, CountsMultiplications) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {1, 4, 8, 8}));
  Node& conv = graph.add("Conv", "c", {&x, &graph.add_constant("w", at::ones({6, 2, 3, 3}))});
  conv.attrs["group"] = std::int64_t{2};
  Node& up = graph.add("ConvTranspose", "u", {&x, &graph.add_constant("v", at::ones({4, 5, 2, 2}))});
  infer_shapes(graph);
  EXPECT_EQ(entry_of(conv).traits.macs(conv), 6 * 6 * 6 * 2 * 9);
  EXPECT_EQ(entry_of(up).traits.macs(up), 64 * 4 * 5 * 4);
  EXPECT_EQ(entry_of(up).traits.weight_axis(up), 1);
}

// The gradient of a convolution with respect to its data is the transposed convolution.
TEST(ConvTranspose, IsTheAdjointOfConv) {
  const at::Tensor w = at::randn({3, 2, 3, 3}, at::kDouble), y = at::randn({1, 3, 4, 4}, at::kDouble);
  const at::Tensor x = at::randn({1, 2, 8, 8}, at::kDouble);
  const Attrs attrs{{"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 0, 1}}};
  const at::Tensor up = run_checked("ConvTranspose", {y, w}, attrs);
  const at::Tensor down = run_checked("Conv", {x, w}, attrs);
  ASSERT_EQ(up.sizes(), x.sizes());
  EXPECT_NEAR((up * x).sum().item<double>(), (down * y).sum().item<double>(), 1e-9);
}

TEST(ConvTranspose, GivesTheWantedSize) {
  const at::Tensor x = at::ones({1, 1, 3, 3}), w = at::ones({1, 2, 3, 3}), b = at::full({2}, 5.0F);
  const Ints strides{3, 2};
  const at::Tensor y = run_checked("ConvTranspose", {x, w, b}, {{"strides", strides}, {"output_shape", Ints{10, 8}}});
  EXPECT_EQ(y.sizes(), (Ints{1, 2, 10, 8}));
  EXPECT_EQ(y[0][0][9][7].item<float>(), 5.0F);  // an appended zero, with the bias
  EXPECT_EQ(y[0][0][0][0].item<float>(), 6.0F);
  EXPECT_EQ(run_checked("ConvTranspose", {x, w}, {{"strides", strides}, {"auto_pad", "SAME_UPPER"}}).sizes(),
            (Ints{1, 2, 9, 6}));
  EXPECT_EQ(run_checked("ConvTranspose", {x, w}, {{"strides", strides}, {"output_padding", Ints{1, 1}}}).sizes(),
            (Ints{1, 2, 10, 8}));
}

TEST(ConvInteger, SubtractsZeroPointsBeforePadding) {
  const at::Tensor x = at::randint(0, 256, {1, 2, 4, 4}).to(at::kByte), w = at::randint(-128, 128, {3, 2, 3, 3});
  const at::Tensor x_zero = at::tensor({7}).to(at::kByte), w_zero = at::tensor({1, -2, 3}).to(at::kChar);
  const at::Tensor y = run_checked("ConvInteger", {x, w.to(at::kChar), x_zero, w_zero}, {{"pads", Ints{1, 1, 1, 1}}});
  const at::Tensor wide = w - w_zero.to(at::kLong).reshape({3, 1, 1, 1});
  const at::Tensor expected =
      at::conv2d((x.to(at::kLong) - 7).to(at::kDouble), wide.to(at::kDouble), {}, 1, 1).to(at::kInt);
  EXPECT_TRUE(at::equal(y, expected));
}

TEST(QLinearConv, IsTheFloatConvolutionRounded) {
  const at::Tensor x = at::randint(0, 256, {1, 2, 4, 4}).to(at::kByte), w = at::randint(-128, 128, {3, 2, 3, 3});
  const at::Tensor ws = at::tensor({0.01F, 0.02F, 0.03F});
  const auto byte = [](int v) { return at::tensor(v).to(at::kByte); };
  const at::Tensor y =
      run_checked("QLinearConv", {x, at::tensor(0.05F), byte(128), w.to(at::kChar), ws, at::zeros({3}, at::kChar),
                                  at::tensor(0.5F), byte(100), at::tensor({100, 200, 300}).to(at::kInt)});
  const at::Tensor sums =
      at::conv2d((x.to(at::kDouble) - 128), w.to(at::kDouble), at::tensor({100.0, 200.0, 300.0}, at::kDouble));
  const at::Tensor real = sums * 0.05 * ws.to(at::kDouble).reshape({3, 1, 1}) / 0.5 + 100;
  EXPECT_EQ(y.scalar_type(), at::kByte);
  EXPECT_LE(distance(y, real.clamp(0, 255)), 0.5 + 1e-4);
}

// Autocast knows conv2d and its relatives, not at::convolution.
TEST(Conv, ComputesInTheTypeOfAutocast) {
  if (hides_amx_palette(read_cpu())) GTEST_SKIP() << "oneDNN would die in bfloat16 on this machine";
  const at::Tensor x = at::ones({1, 2, 4, 4}), w = at::ones({2, 2, 3, 3});
  at::autocast::set_autocast_enabled(at::kCPU, true);
  const at::Tensor y = run_one("Conv", {x, w}), up = run_one("ConvTranspose", {x, w});
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
  EXPECT_EQ(up.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(y.to(at::kFloat), at::full({1, 2, 2, 2}, 18.0F)));
}

}  // namespace
}  // namespace quench
