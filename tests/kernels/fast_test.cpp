// The fast loops against their plain twins: what is computed element by element bit for bit, sums to the rounding
// that their order allows; on every instruction set that this machine has.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/affine.h"
#include "kernels/learned.h"
#include "kernels/simd.h"

namespace quench {
namespace {

using at::Tensor;

// A shape, how it lies in memory, and a scheme for it.
struct Setting {
  std::string name;
  Tensor x;
  QScheme scheme;
};

Tensor numbers(at::IntArrayRef sizes) {
  Tensor x = at::randn(sizes) * 3;
  // Values on exact half steps (ties), ends of the range, and what is not a number.
  Tensor flat = x.view({-1});
  if (flat.numel() > 40) {
    flat.slice(0, 0, 32).copy_(at::arange(-16, 16) * 0.125F);
    flat[33] = NAN;
    flat[34] = INFINITY;
    flat[35] = -INFINITY;
    flat[36] = -0.0F;
    flat[37] = 1e30F;
  }
  return x;
}

Tensor channels_last(at::IntArrayRef sizes) { return numbers(sizes).contiguous(at::MemoryFormat::ChannelsLast); }

std::vector<Setting> settings() {
  const auto scheme = [](const char* text) { return QScheme::parse(text); };
  return {
      {"tensor", numbers({3, 5, 37, 11}), scheme("int8 symmetric tensor")},
      {"tensor, several chunks", numbers({9, 4099}), scheme("uint8 affine tensor")},
      {"one element", numbers({1}), scheme("int4 symmetric tensor")},
      {"0-d", numbers({}), scheme("int4 symmetric tensor")},
      {"empty", numbers({0, 3}), scheme("int8 symmetric tensor")},
      {"empty channels", numbers({0, 3}), scheme("int8 symmetric channel:1")},
      {"channel, long runs", numbers({2, 3, 70, 71}), scheme("int8 symmetric channel:1")},
      {"channel, short runs", numbers({6, 17, 3, 3}), scheme("uint4 affine channel:1")},
      {"channel, runs of 17", numbers({2, 5, 17}), scheme("uint4 affine channel:1")},
      {"channel, last axis", numbers({700, 37}), scheme("int4 affine channel:-1")},
      {"channels last in memory", channels_last({3, 37, 9, 9}), scheme("uint8 affine channel:1")},
      {"weight, axis 0", numbers({40, 3, 3, 3}), scheme("int8 symmetric channel:0 narrow")},
      {"depthwise weight", numbers({40, 1, 3, 3}), scheme("int8 symmetric channel:0")},
      {"one channel", numbers({7, 1, 31}), scheme("int8 symmetric channel:1")},
      {"group, last axis", numbers({6, 96}), scheme("int4 symmetric group:1:32")},
      {"group of 3", numbers({6, 96}), scheme("int4 affine group:1:3")},
      {"group, first axis", numbers({64, 5, 3, 3}), scheme("int4 affine group:0:16")},
      {"group, channels last", channels_last({4, 32, 3, 3}), scheme("int4 affine group:1:8")},
      {"not dense", numbers({9, 8, 14}).slice(2, 0, 14, 2), scheme("int8 symmetric channel:1")},
      {"transposed", numbers({9, 8, 14}).transpose(0, 2), scheme("int8 affine channel:1")},
      {"1 bit", numbers({9, 77}), scheme("int1 symmetric tensor")},
      {"16 bits", numbers({9, 77}), scheme("uint16 affine channel:0")},
      {"more rows than a chunk of sums", numbers({5000, 5}), scheme("int8 affine channel:1")},
      {"wide rows", numbers({40, 5000}), scheme("int8 affine channel:1")},
  };
}

Tensor scales(const Setting& s) {
  const auto shape = s.scheme.scale_shape(s.x.sizes().vec());
  // Multiples of 1/64 that include powers of two: ties do occur.
  return (at::arange(1, 1 + at::zeros(shape).numel(), at::kFloat).remainder(16) + 1).div(64).reshape(shape);
}

// Both ends of the range and what lies between.
Tensor zeros(const Setting& s) {
  const Tensor scale = scales(s);
  if (s.scheme.symmetric()) return at::zeros_like(scale);
  const Tensor from = at::arange(0, scale.numel(), at::kFloat) * 5;
  return (from.remainder(s.scheme.levels()) + s.scheme.qmin()).reshape(scale.sizes());
}

testing::AssertionResult same_bits(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes() || a.strides() != b.strides()) return testing::AssertionFailure() << "another layout";
  const auto bits = [](const Tensor& t) { return t.scalar_type() == at::kFloat ? t.view(at::kInt) : t; };
  const Tensor differ = bits(a).ne(bits(b));
  if (!differ.any().item<bool>()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << differ.sum().item<std::int64_t>()
                                     << " elements differ; the first: " << a.masked_select(differ)[0].item<float>()
                                     << " and " << b.masked_select(differ)[0].item<float>();
}

// A lane adds at most 256 terms in float32 (kChunk / kLanes, or rows of a chunk): each addition is wrong by half
// an ulp, 2^-24, of a partial sum that is at most the sum of magnitudes. Products and the last rounding: 2 more.
// `magnitude`: the sum of |terms|, at most sum |dy| times the greatest slope.
void expect_sums(const Tensor& fast, const Tensor& plain, double magnitude) {
  ASSERT_EQ(fast.sizes(), plain.sizes());
  const Tensor both = at::isnan(fast).logical_and(at::isnan(plain)), error = (fast - plain).abs();
  const double bound = 258 * std::ldexp(1.0, -24) * magnitude;
  EXPECT_TRUE(both.logical_or(error.le(bound)).all().item<bool>()) << fast << plain << bound;
}

// Inside the range a slope is at most half a step, outside it is an end of the range.
double magnitude_of(const Tensor& dy, const Tensor& dx, const QScheme& scheme) {
  const double all = dy.abs().sum().item<double>(), inside = dx.abs().sum().item<double>();
  return 0.5 * inside + (all - inside) * scheme.levels();
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
    EXPECT_TRUE(same_bits(dsq_forward(s.x, args, 0.4), dsq_forward_ref(s.x, args, 0.4)));
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
      const DropKey key{.seed = 3, .node = 4, .step = 5};
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
