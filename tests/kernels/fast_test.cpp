// The fast loops against their plain twins: what is computed element by element bit for bit, sums to the rounding
// that their order allows; on every instruction set that this machine has.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "kernels/affine/affine.h"
#include "kernels/affine/learned.h"
#include "kernels/settings.h"
#include "kernels/simd/simd.h"

namespace quench {
namespace {

using at::Tensor;

testing::AssertionResult same_bits(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes() || a.strides() != b.strides()) return testing::AssertionFailure() << "another layout";
  const auto bits = [](const Tensor& t) { return t.scalar_type() == at::kFloat ? t.view(at::kInt) : t; };
  const Tensor differ = bits(a).ne(bits(b));
  if (!differ.any().item<bool>()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << differ.sum().item<std::int64_t>()
                                     << " elements differ; the first: " << a.masked_select(differ)[0].item<float>()
                                     << " and " << b.masked_select(differ)[0].item<float>();
}

// body(setting, args) for each setting, way of quantizing and instruction set.
template <class Body>
void everywhere(const Body& body) {
  at::manual_seed(1);
  const SimdChoices choices = simd_choices();
  for (const Setting& s : settings()) {
    const Tensor scale = scales(s), zero = zeros(s);
    for (const QuantizeBy by : {QuantizeBy::kReciprocal, QuantizeBy::kDivision})
      for (int k = 0; k < choices.count; ++k) {
        SCOPED_TRACE(s.name + ", " + name_of(by) + ", " + choices.loops[k]->name);
        force_simd(choices.loops[k]);
        body(s, AffineArgs{scale, zero, s.scheme, by});
      }
  }
  force_simd(nullptr);
}

TEST(FastKernels, FakeQuantizeEqualsThePlainLoop) {
  everywhere([](const Setting& s, const AffineArgs& args) {
    EXPECT_TRUE(same_bits(fake_quantize(s.x, args), fake_quantize_ref(s.x, args)));
    Tensor y, mask, plain_y, plain_mask;
    fake_quantize_masked(s.x, args, y, mask);
    fake_quantize_masked_ref(s.x, args, plain_y, plain_mask);
    EXPECT_TRUE(same_bits(y, plain_y));
    EXPECT_TRUE(same_bits(mask, plain_mask));
    EXPECT_TRUE(same_bits(masked_gradient(s.x, mask), masked_gradient_ref(s.x, mask)));
  });
}

TEST(FastKernels, ResultsLieAsTheTensorDoes) {
  everywhere([](const Setting& s, const AffineArgs& args) {
    const Tensor y = fake_quantize(s.x, args);
    if (s.x.is_non_overlapping_and_dense()) {
      EXPECT_EQ(y.strides(), s.x.strides());
    } else {
      EXPECT_TRUE(y.is_contiguous());
    }
  });
}

TEST(FastKernels, CodesTimesScaleAreTheFakeQuantizedTensor) {
  everywhere([](const Setting& s, const AffineArgs& args) {
    const Tensor codes = quantize_codes(s.x, args), y = fake_quantize_ref(s.x, args);
    if (codes.numel() == 0) return;
    EXPECT_GE(codes.min().item<int>(), s.scheme.qmin());
    EXPECT_LE(codes.max().item<int>(), s.scheme.qmax());
    const Tensor expected = at::where(at::isnan(y), at::zeros_like(y), y);
    EXPECT_TRUE(same_bits(dequantize_codes(codes, args), expected));
  });
}

TEST(FastKernels, LsqBackwardEqualsThePlainLoop) {
  everywhere([](const Setting& s, const AffineArgs& args) {
    const Tensor dy = at::randn(s.x.sizes());  // contiguous, where x may not be
    for (const Tensor& x : {s.x, s.x.nan_to_num(0.7)}) {
      Tensor dx, ds, dz, plain_dx, plain_ds, plain_dz;
      lsq_backward(dy, x, args, dx, ds, dz);
      lsq_backward_ref(dy, x, args, plain_dx, plain_ds, plain_dz);
      EXPECT_TRUE(same_bits(dx, plain_dx));
      expect_sums(ds, plain_ds, magnitude_of(dy, plain_dx, s.scheme));
      expect_sums(dz, plain_dz, dy.abs().sum().item<double>() * 17 / 64);  // the greatest scale
    }
  });
}

TEST(FastKernels, DsqBackwardEqualsThePlainLoop) {
  everywhere([](const Setting& s, const AffineArgs& args) {
    const Tensor dy = at::randn(s.x.sizes());
    for (const double alpha : {0.001, 0.4, 0.9})
      EXPECT_TRUE(same_bits(dsq_backward(dy, s.x, args, alpha), dsq_backward_ref(dy, s.x, args, alpha)));
    EXPECT_TRUE(same_bits(dsq_forward(s.x, args), dsq_forward_ref(s.x, args)));
  });
}

TEST(FastKernels, PactEqualsThePlainLoop) {
  everywhere([](const Setting& s, const AffineArgs& args) {
    if (args.scale.numel() != 1) return;
    const Tensor dy = at::randn(s.x.sizes());
    const PactClip clip{-1.0F, 1.25F};
    EXPECT_TRUE(same_bits(pact_forward(s.x, clip, args), pact_forward_ref(s.x, clip, args)));
    Tensor dx, above, below, plain_dx, plain_above, plain_below;
    pact_backward(dy, s.x, clip, args, dx, above, below);
    pact_backward_ref(dy, s.x, clip, args, plain_dx, plain_above, plain_below);
    EXPECT_TRUE(same_bits(dx, plain_dx));
    expect_sums(above, plain_above, dy.abs().sum().item<double>());
    expect_sums(below, plain_below, dy.abs().sum().item<double>());
  });
}

TEST(FastKernels, AdaRoundEqualsThePlainLoop) {
  everywhere([](const Setting& s, const AffineArgs& args) {
    const Tensor dy = at::randn(s.x.sizes()), alpha = at::randn(s.x.sizes()) * 5;
    EXPECT_TRUE(same_bits(adaround_forward(s.x, alpha, args), adaround_forward_ref(s.x, alpha, args)));
    EXPECT_TRUE(same_bits(adaround_backward(dy, s.x, alpha, args), adaround_backward_ref(dy, s.x, alpha, args)));
  });
}

TEST(FastKernels, QDropEqualsThePlainLoop) {
  everywhere([](const Setting& s, const AffineArgs& args) {
    const Tensor dy = at::randn(s.x.sizes());
    for (const double prob : {0.0, 0.5, 1.0}) {
      const RandomKey key{.seed = 3, .node = 4, .step = 5};
      EXPECT_TRUE(same_bits(qdrop_forward(s.x, args, prob, key), qdrop_forward_ref(s.x, args, prob, key)));
      for (const Tensor& x : {s.x, s.x.nan_to_num(0.7)}) {
        Tensor dx, ds, plain_dx, plain_ds;
        qdrop_backward(dy, x, args, prob, key, dx, ds);
        qdrop_backward_ref(dy, x, args, prob, key, plain_dx, plain_ds);
        EXPECT_TRUE(same_bits(dx, plain_dx));
        expect_sums(ds, plain_ds, magnitude_of(dy, plain_dx, s.scheme));
      }
    }
  });
}

// The order of every sum is fixed.
TEST(FastKernels, SumsDependNeitherOnThreadsNorOnTheInstructionSet) {
  at::manual_seed(2);
  const SimdChoices choices = simd_choices();
  const int threads = at::get_num_threads();
  for (const char* text : {"int8 symmetric tensor", "int8 symmetric channel:1", "int8 symmetric channel:3"}) {
    const QScheme scheme = QScheme::parse(text);
    const Tensor x = at::randn({4, 6, 90, 91}), dy = at::randn({4, 6, 90, 91});
    const Tensor scale = at::full(scheme.scale_shape(x.sizes().vec()), 0.02), zero = at::zeros_like(scale);
    Tensor dx, first_ds, first_dz;
    for (int k = 0; k < choices.count; ++k)
      for (const int count : {1, 2, 3}) {
        force_simd(choices.loops[k]);
        at::set_num_threads(count);
        Tensor ds, dz;
        lsq_backward(dy, x, {scale, zero, scheme}, dx, ds, dz);
        if (!first_ds.defined()) first_ds = ds, first_dz = dz;
        EXPECT_TRUE(same_bits(ds, first_ds)) << text << " " << choices.loops[k]->name << " " << count;
        EXPECT_TRUE(same_bits(dz, first_dz)) << text << " " << choices.loops[k]->name << " " << count;
      }
  }
  at::set_num_threads(threads);
  force_simd(nullptr);
}

TEST(FastKernels, TheBestInstructionSetIsChosen) {
  const SimdChoices choices = simd_choices();
  ASSERT_GE(choices.count, 1);
  EXPECT_STREQ(kernel_isa(), choices.loops[choices.count - 1]->name);
  force_simd(choices.loops[0]);
  EXPECT_STREQ(kernel_isa(), "base");
  force_simd(nullptr);
}

}  // namespace
}  // namespace quench
