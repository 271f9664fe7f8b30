// A quantizer from one file: bounds that learn, as the seed "add a backend" has them, with gradients to x,
// scale, zero point, qmin and qmax.
#include <gtest/gtest.h>

#include "fake_quant/oracle.h"
#include "fake_quant/samples.h"

namespace quench {
namespace {

class LearnedBounds : public FakeQuant {
 public:
  explicit LearnedBounds(const FakeQuantSpec& spec) : FakeQuant(spec) {}
  at::Tensor quantize(const at::Tensor& x, const FakeQuantTensors& t, const FakeQuantRun&) const override {
    // Finite, or the difference of two infinities would be NaN.
    const at::Tensor v = (x / t.scale()).clamp(-1e6, 1e6),
                     z = straight_through(t.zero_point(), at::round(t.zero_point()));
    const at::Tensor q = straight_through(v, at::round(v)) + z;
    return (at::minimum(at::maximum(q, t.own(0)), t.own(1)) - z) * t.scale();
  }
};

QUENCH_REGISTER_ITEM(FakeQuantEntry, "learned_bounds", "of a test: the bounds learn too",
                     {.make = [](const FakeQuantSpec& spec) -> std::unique_ptr<FakeQuant> {
                        return std::make_unique<LearnedBounds>(spec);
                      },
                      .params = [](const FakeQuantSpec&) -> std::vector<FakeQuantParam> {
                        return {{"qmin", ParamShape::kScalar, true, -128.0},
                                {"qmax", ParamShape::kScalar, true, 127.0}};
                      },
                      .learns_scale = true,
                      .learns_zero_point = true,
                      .per_channel = false})

TEST(PlugIn, MayLearnItsBounds) {
  Quantizer quantizer(spec_of("learned_bounds", "int4 affine tensor"), {});
  quantizer.load({{"scale", at::full({}, 0.5F)},
                  {"zero_point", at::zeros({})},
                  {"qmin", at::full({}, -8.0F)},
                  {"qmax", at::full({}, 7.0F)},
                  {"flags", at::tensor({0, 1}, at::kByte)}});
  const at::Tensor x = at::tensor({100.0F, -100.0F, -100.0F, 1.1F}).requires_grad_();
  quantizer(x).sum().backward();
  const auto parameters = quantizer.parameters();
  EXPECT_EQ(parameters.size(), 4U);
  EXPECT_EQ(parameters.at("qmax").grad().item<float>(), 0.5F);
  EXPECT_EQ(parameters.at("qmin").grad().item<float>(), 1.0F);
  EXPECT_EQ(parameters.at("zero_point").grad().item<float>(), -1.5F);  // -s for each clamped element
  EXPECT_NEAR(parameters.at("scale").grad().item<float>(), 7 - 8 - 8 + (2 - 2.2F), 1e-5F);
  EXPECT_TRUE(at::equal(x.grad(), at::tensor({0.0F, 0.0F, 0.0F, 1.0F})));
}

}  // namespace
}  // namespace quench
