#include <gtest/gtest.h>

#include "fake_quant/samples.h"
#include "kernels/layout.h"
#include "quant/reference.h"

namespace quench {
namespace {

TEST(Fixed, EqualsLibTorchPerTensor) {
  const at::Tensor x = (sample({4, 5, 6, 7}) * 2).requires_grad_(), dy = sample({4, 5, 6, 7}, 2);
  Quantizer quantizer = quantizing(spec_of("fixed", "uint8 affine tensor"), x.detach() * 0.5F);
  const at::Tensor y = quantizer(x);
  y.backward(dy);
  const at::Tensor other = x.detach().clone().requires_grad_();
  const at::Tensor theirs = at::fake_quantize_per_tensor_affine(
      other, quantizer.tensors().scale().item<double>(), quantizer.tensors().zero_point().item<std::int64_t>(), 0, 255);
  theirs.backward(dy);
  EXPECT_TRUE(at::equal(y, theirs));
  EXPECT_TRUE(at::equal(x.grad(), other.grad()));
}

TEST(Fixed, EqualsLibTorchPerChannel) {
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    const at::Tensor x = (sample({4, 5, 6, 7}) * 2).contiguous(format).requires_grad_(), dy = sample({4, 5, 6, 7}, 2);
    Quantizer quantizer = quantizing(spec_of("fixed", "int8 affine channel:1"), x.detach() * 0.5F);
    const at::Tensor y = quantizer(x);
    y.backward(dy);
    const at::Tensor other = x.detach().clone().requires_grad_();
    const at::Tensor theirs = at::fake_quantize_per_channel_affine(
        other, quantizer.tensors().scale(), quantizer.tensors().zero_point().to(at::kInt), 1, -128, 127);
    theirs.backward(dy);
    EXPECT_TRUE(at::equal(y, theirs));
    EXPECT_TRUE(at::equal(x.grad(), other.grad()));
  }
}

TEST(Fixed, SaturatesInFp8AsTheReferenceDoes) {
  for (const char* text : {"e4m3fn tensor", "e5m2 tensor", "e4m3fn channel:1", "e5m2 group:1:5"}) {
    const QScheme scheme = QScheme::parse(text);
    const at::Tensor x = (sample({4, 5, 6}) * 2).requires_grad_(), dy = sample({4, 5, 6}, 2);
    Quantizer quantizer = quantizing(spec_of("fixed", text), x.detach() * 0.5F);  // half of the tails saturate
    const at::Tensor y = quantizer(x), scale = quantizer.tensors().scale().flatten();
    y.backward(dy);
    const std::vector<float> scales(scale.data_ptr<float>(), scale.data_ptr<float>() + scale.numel());
    const QType type{scheme, {scales, std::vector<std::int32_t>(scales.size(), 0)}};
    EXPECT_TRUE(at::equal(y, fake_quantize_reference(x.detach(), type, QuantizeBy::kReciprocal))) << text;
    // In double, with no element so near the end that float32 could see it on the other side.
    const at::Tensor spread = spread_scales(quantizer.tensors().scale(), x.detach(), scheme).to(at::kDouble);
    const at::Tensor reach = (x.detach().to(at::kDouble) / spread).abs() / static_cast<double>(scheme.largest());
    ASSERT_GT((reach - 1).abs().min().item<double>(), 0x1p-22) << text;
    EXPECT_GT((reach > 1).sum().item<int>(), 0) << text;
    EXPECT_TRUE(at::equal(x.grad(), at::where(reach <= 1, dy, at::zeros({})))) << text;
  }
}

}  // namespace
}  // namespace quench
