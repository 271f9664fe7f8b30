// The CUDA loops against the plain ones of the CPU: element by element bit for bit (a NaN is a NaN, whichever its
// bits), sums to the rounding of their order.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "kernels/affine/affine.h"
#include "kernels/affine/learned.h"
#include "kernels/settings.h"

namespace quench {
namespace {

using at::Tensor;

#define NEEDS_CUDA() \
  if (!at::hasCUDA()) GTEST_SKIP() << "this LibTorch sees no CUDA device: the CUDA loops are not tested here"

testing::AssertionResult same(const Tensor& cuda, const Tensor& plain) {
  if (!cuda.is_cuda()) return testing::AssertionFailure() << "not on CUDA";
  const Tensor got = cuda.cpu();
  if (got.sizes() != plain.sizes()) return testing::AssertionFailure() << "another shape";
  if (plain.scalar_type() != at::kFloat)
    return at::equal(got, plain) ? testing::AssertionSuccess() : testing::AssertionFailure() << "differs";
  const Tensor differ = got.view(at::kInt)
                            .ne(plain.contiguous().view(at::kInt).reshape(got.sizes()))
                            .logical_and(at::isnan(got).logical_and(at::isnan(plain)).logical_not());
  if (!differ.any().item<bool>()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << differ.sum().item<std::int64_t>()
                                     << " elements differ; the first: " << got.masked_select(differ)[0].item<float>()
                                     << " and " << plain.masked_select(differ)[0].item<float>();
}

// On CUDA with the same strides; `odd`: in memory that does not begin on 16 bytes.
Tensor to_cuda(const Tensor& x, bool odd) {
  if (!odd) return x.cuda();
  return at::empty({x.numel() + 1}, at::kCUDA).slice(0, 1).view(x.sizes()).copy_(x);
}

// A tensor and its arguments on both devices.
struct Both {
  const Setting& s;
  QuantizeBy by;
  bool odd;
  Tensor scale = scales(s), zero = zeros(s);
  Tensor x = s.x, dy = at::randn(s.x.sizes()), alpha = at::randn(s.x.sizes()) * 5;
  Tensor cuda_scale = scale.cuda(), cuda_zero = zero.cuda();
  Tensor cuda_x = to_cuda(x, odd), cuda_dy = dy.cuda(), cuda_alpha = alpha.cuda();
  AffineArgs args{scale, zero, s.scheme, by}, cuda_args{cuda_scale, cuda_zero, s.scheme, by};
};

// Large enough for loops in which a thread keeps its channels, with and without a multiple of four of them.
std::vector<Setting> all_settings() {
  std::vector<Setting> all = settings();
  const QScheme channel = QScheme::parse("uint8 affine channel:1");
  all.push_back({"large, channels last", channels_last({8, 48, 40, 40}), channel});
  all.push_back({"large, odd channels last", channels_last({8, 37, 50, 50}), channel});
  all.push_back({"large, long runs", numbers({8, 48, 40, 40}), channel});
  all.push_back({"large, short runs", numbers({1600, 48, 3, 3}), channel});
  all.push_back({"many groups", numbers({512, 1024}), QScheme::parse("int4 affine group:1:64")});
  return all;
}

template <class Body>
void everywhere(const Body& body) {
  at::manual_seed(1);
  for (const Setting& s : all_settings())
    for (const QuantizeBy by : {QuantizeBy::kReciprocal, QuantizeBy::kDivision})
      for (const bool odd : {false, true}) {
        if (odd && !s.x.is_contiguous()) continue;
        SCOPED_TRACE(s.name + ", " + name_of(by) + (odd ? ", odd memory" : ""));
        body(Both{s, by, odd});
      }
}

TEST(CudaKernels, FakeQuantizeEqualsThePlainLoop) {
  NEEDS_CUDA();
  everywhere([](const Both& b) {
    EXPECT_TRUE(same(fake_quantize(b.cuda_x, b.cuda_args), fake_quantize_ref(b.x, b.args)));
    EXPECT_TRUE(same(quantize_codes(b.cuda_x, b.cuda_args), quantize_codes(b.x, b.args)));
    const Tensor codes = quantize_codes(b.x, b.args);
    EXPECT_TRUE(same(dequantize_codes(codes.cuda(), b.cuda_args), dequantize_codes(codes, b.args)));
    Tensor y, mask, plain_y, plain_mask;
    fake_quantize_masked(b.cuda_x, b.cuda_args, y, mask);
    fake_quantize_masked_ref(b.x, b.args, plain_y, plain_mask);
    EXPECT_TRUE(same(y, plain_y));
    EXPECT_TRUE(same(mask, plain_mask));
    EXPECT_TRUE(same(masked_gradient(b.cuda_dy, mask), masked_gradient_ref(b.dy, plain_mask)));
  });
}

TEST(CudaKernels, LsqBackwardEqualsThePlainLoopAndItself) {
  NEEDS_CUDA();
  everywhere([](const Both& b) {
    const Tensor x = b.x.nan_to_num(0.7);
    Tensor dx, ds, dz, plain_dx, plain_ds, plain_dz, again_dx, again_ds, again_dz;
    lsq_backward(b.cuda_dy, to_cuda(x, b.odd), b.cuda_args, dx, ds, dz);
    lsq_backward_ref(b.dy, x, b.args, plain_dx, plain_ds, plain_dz);
    EXPECT_TRUE(same(dx, plain_dx));
    expect_sums(ds.cpu(), plain_ds, magnitude_of(b.dy, plain_dx, b.s.scheme));
    expect_sums(dz.cpu(), plain_dz, b.dy.abs().sum().item<double>() * 17 / 64);  // the greatest scale
    lsq_backward(b.cuda_dy, to_cuda(x, b.odd), b.cuda_args, again_dx, again_ds, again_dz);
    EXPECT_TRUE(at::equal(ds, again_ds) && at::equal(dz, again_dz));
  });
}

// One loop for a Relu and its quantizer is bit for bit the two, forward and backward.
TEST(CudaKernels, AReluInFrontIsThatRelu) {
  NEEDS_CUDA();
  everywhere([](const Both& b) {
    const Tensor given = b.x.nan_to_num(0.7), x = to_cuda(given, b.odd), rectified = to_cuda(at::relu(given), b.odd);
    AffineArgs fused = b.cuda_args;
    fused.after_relu = true;
    const auto through_relu = [&](const Tensor& dx) { return at::threshold_backward(dx, rectified, 0); };
    EXPECT_TRUE(same(fake_quantize(x, fused), fake_quantize(rectified, b.cuda_args).cpu()));
    Tensor y, mask, two_y, two_mask, dx, ds, dz, two_dx, two_ds, two_dz;
    fake_quantize_masked(x, fused, y, mask);
    fake_quantize_masked(rectified, b.cuda_args, two_y, two_mask);
    EXPECT_TRUE(same(y, two_y.cpu()));
    EXPECT_TRUE(same(mask, two_mask.logical_and(rectified > 0).cpu()));
    lsq_backward(b.cuda_dy, x, fused, dx, ds, dz);
    lsq_backward(b.cuda_dy, rectified, b.cuda_args, two_dx, two_ds, two_dz);
    EXPECT_TRUE(same(dx, through_relu(two_dx).cpu()));
    EXPECT_TRUE(at::equal(ds, two_ds) && at::equal(dz, two_dz));
    EXPECT_TRUE(same(dsq_backward(b.cuda_dy, x, fused, 0.4),
                     through_relu(dsq_backward(b.cuda_dy, rectified, b.cuda_args, 0.4)).cpu()));
  });
}

TEST(CudaKernels, DsqAndAdaRoundEqualThePlainLoops) {
  NEEDS_CUDA();
  everywhere([](const Both& b) {
    EXPECT_TRUE(same(dsq_backward(b.cuda_dy, b.cuda_x, b.cuda_args, 0.4), dsq_backward_ref(b.dy, b.x, b.args, 0.4)));
    EXPECT_TRUE(
        same(adaround_forward(b.cuda_x, b.cuda_alpha, b.cuda_args), adaround_forward_ref(b.x, b.alpha, b.args)));
    EXPECT_TRUE(same(adaround_backward(b.cuda_dy, b.cuda_x, b.cuda_alpha, b.cuda_args),
                     adaround_backward_ref(b.dy, b.x, b.alpha, b.args)));
  });
}

TEST(CudaKernels, PactEqualsThePlainLoop) {
  NEEDS_CUDA();
  everywhere([](const Both& b) {
    if (b.scale.numel() != 1) return;
    const PactClip clip{-1.0F, 1.25F};
    EXPECT_TRUE(same(pact_forward(b.cuda_x, clip, b.cuda_args), pact_forward_ref(b.x, clip, b.args)));
    Tensor dx, above, below, plain_dx, plain_above, plain_below;
    pact_backward(b.cuda_dy, b.cuda_x, clip, b.cuda_args, dx, above, below);
    pact_backward_ref(b.dy, b.x, clip, b.args, plain_dx, plain_above, plain_below);
    EXPECT_TRUE(same(dx, plain_dx));
    expect_sums(above.cpu(), plain_above, b.dy.abs().sum().item<double>());
    expect_sums(below.cpu(), plain_below, b.dy.abs().sum().item<double>());
  });
}

TEST(CudaKernels, QDropEqualsThePlainLoop) {
  NEEDS_CUDA();
  const RandomKey key{.seed = 3, .node = 4, .step = 5};
  everywhere([&](const Both& b) {
    const Tensor x = b.x.nan_to_num(0.7);
    EXPECT_TRUE(same(qdrop_forward(b.cuda_x, b.cuda_args, 0.5, key), qdrop_forward_ref(b.x, b.args, 0.5, key)));
    Tensor dx, ds, plain_dx, plain_ds;
    qdrop_backward(b.cuda_dy, to_cuda(x, b.odd), b.cuda_args, 0.5, key, dx, ds);
    qdrop_backward_ref(b.dy, x, b.args, 0.5, key, plain_dx, plain_ds);
    EXPECT_TRUE(same(dx, plain_dx));
    expect_sums(ds.cpu(), plain_ds, magnitude_of(b.dy, plain_dx, b.s.scheme));
  });
}

TEST(CudaKernels, ScalesOnAnotherDeviceAreNamed) {
  NEEDS_CUDA();
  const Tensor x = at::zeros({4}, at::kCUDA), scale = at::ones({}), zero = at::zeros({});
  const QScheme scheme;
  try {
    fake_quantize(x, {scale, zero, scheme});
    FAIL() << "a scale on the CPU was taken";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("the scale is on cpu, the tensor on cuda"), std::string::npos);
  }
}

}  // namespace
}  // namespace quench
