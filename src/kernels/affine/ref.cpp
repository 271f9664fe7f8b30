// The plain twins: one loop over the elements each, sums in float64. What the fast loops must equal.
#include <vector>

#include "kernels/affine/table.h"
#include "quant/adaround.h"
#include "quant/pact.h"

namespace quench {
namespace {

// body(i, c, affine) for each element i of memory, of channel c.
template <class Body>
void each(const AffineView& view, const Body& body) {
  for (std::int64_t row = 0, i = 0; row < view.outer * view.channels; ++row) {
    const std::int64_t c = row % view.channels;
    const Affine a = affine_at(view, c);
    for (std::int64_t k = 0; k < view.inner; ++k, ++i) body(i, c, a);
  }
}

std::vector<double> sums_of(const AffineView& view) {
  return std::vector<double>(static_cast<std::size_t>(view.channels));
}

void fake_quantize(const AffineView& view, const float* x, float* y) {
  each(view,
       [&](auto i, auto, const Affine& a) { y[i] = nearest_step(in_steps(x[i], a, view.divide), a.steps) * a.scale; });
}

void codes(const AffineView& view, const float* x, std::int32_t* q) {
  each(view, [&](auto i, auto c, const Affine& a) {
    q[i] = code_of(in_steps(x[i], a, view.divide), a.steps, view.zero_point[c * view.zero_step]);
  });
}

void dequantize(const AffineView& view, const std::int32_t* q, float* y) {
  each(view, [&](auto i, auto c, const Affine& a) {
    y[i] = step_of_code(q[i], view.zero_point[c * view.zero_step]) * a.scale;
  });
}

void masked(const AffineView& view, const float* x, float* y, bool* mask) {
  each(view, [&](auto i, auto, const Affine& a) {
    const float v = in_steps(x[i], a, view.divide);
    y[i] = nearest_step(v, a.steps) * a.scale;
    mask[i] = in_range(v, a.steps);
  });
}

void masked_gradient(std::int64_t count, const float* dy, const bool* mask, float* dx) {
  for (std::int64_t i = 0; i < count; ++i) dx[i] = mask[i] ? dy[i] : 0.0F;
}

void lsq_backward(const AffineView& view, const float* dy, const float* x, float* dx, float* ds, float* dz) {
  auto scale_sum = sums_of(view), outside = sums_of(view);
  each(view, [&](auto i, auto c, const Affine& a) {
    const float v = in_steps(x[i], a, view.divide);
    const bool inside = in_range(v, a.steps);
    dx[i] = inside ? dy[i] : 0.0F;
    scale_sum[c] += static_cast<double>(dy[i]) * scale_slope(v, a.steps);
    outside[c] += inside ? 0.0F : dy[i];
  });
  for (std::int64_t c = 0; c < view.channels; ++c) {
    ds[c] = static_cast<float>(scale_sum[c]);
    dz[c] = static_cast<float>(-outside[c] * affine_at(view, c).scale);
  }
}

void dsq_backward(const AffineView& view, DsqShape shape, const float* dy, const float* x, float* dx) {
  each(view, [&](auto i, auto, const Affine& a) {
    dx[i] = dy[i] * dsq_slope(in_steps(x[i], a, view.divide), a.steps, shape);
  });
}

void pact_forward(const AffineView& view, ClipRange clip, const float* x, float* y) {
  each(view, [&](auto i, auto, const Affine& a) {
    y[i] = nearest_step(in_steps(pact_clip(x[i], clip.low, clip.high), a, view.divide), a.steps) * a.scale;
  });
}

void pact_backward(const AffineView& view, ClipRange clip, const float* dy, const float* x, float* dx, float* sums) {
  double above = 0.0, below = 0.0;
  each(view, [&](auto i, auto, const Affine& a) {
    dx[i] = pact_passes(x[i], in_steps(x[i], a, view.divide), clip.low, clip.high, a.steps) ? dy[i] : 0.0F;
    above += x[i] > clip.high ? dy[i] : 0.0F;
    below += x[i] < clip.low ? dy[i] : 0.0F;
  });
  sums[0] = static_cast<float>(above);
  sums[1] = static_cast<float>(below);
}

void adaround_forward(const AffineView& view, const float* w, const float* alpha, float* y) {
  each(view, [&](auto i, auto, const Affine& a) {
    y[i] = adaround_step(in_steps(w[i], a, view.divide), alpha[i], a.steps) * a.scale;
  });
}

void adaround_backward(const AffineView& view, const float* dy, const float* w, const float* alpha, float* dalpha) {
  each(view, [&](auto i, auto, const Affine& a) {
    dalpha[i] = dy[i] * a.scale * adaround_slope(in_steps(w[i], a, view.divide), alpha[i], a.steps);
  });
}

bool coin_of(const DropCoin& coin, std::int64_t i) {
  return is_quantized(drop_words(coin, static_cast<std::uint64_t>(i) / 4).word[i % 4], coin);
}

void qdrop_forward(const AffineView& view, const DropCoin& coin, const float* x, float* y) {
  each(view, [&](auto i, auto, const Affine& a) {
    const float quantized = nearest_step(in_steps(x[i], a, view.divide), a.steps) * a.scale;
    y[i] = coin_of(coin, i) ? quantized : x[i];
  });
}

void qdrop_backward(const AffineView& view, const DropCoin& coin, const float* dy, const float* x, float* dx,
                    float* ds) {
  auto scale_sum = sums_of(view);
  each(view, [&](auto i, auto c, const Affine& a) {
    const float v = in_steps(x[i], a, view.divide);
    const bool quantized = coin_of(coin, i);
    dx[i] = !quantized || in_range(v, a.steps) ? dy[i] : 0.0F;
    if (quantized) scale_sum[c] += static_cast<double>(dy[i]) * scale_slope(v, a.steps);
  });
  for (std::int64_t c = 0; c < view.channels; ++c) ds[c] = static_cast<float>(scale_sum[c]);
}

}  // namespace

const Kernels& ref_kernels() {
  static const Kernels table = {fake_quantize,     codes,         dequantize,    masked,        masked_gradient,
                                lsq_backward,      dsq_backward,  pact_forward,  pact_backward, adaround_forward,
                                adaround_backward, qdrop_forward, qdrop_backward};
  return table;
}

}  // namespace quench
