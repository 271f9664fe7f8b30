// kernels/learned.h on CUDA, element by element.
#include "kernels/cuda_each.cuh"
#include "kernels/cuda_table.h"
#include "kernels/cuda_words.cuh"
#include "quant/adaround.h"
#include "quant/pact.h"

namespace quench {
namespace {

struct DsqBackward {
  const float *dy, *x;
  float* dx;
  DsqShape shape;
  bool divide;
  template <int V, class Walk>
  __device__ void run(Walk& walk, std::int64_t i) const {
    const auto g = load<V>(dy, i), in = load<V>(x, i);
    Pack<float, V> out;
#pragma unroll
    for (int k = 0; k < V; ++k, walk.next()) {
      const Affine& a = walk.affine();
      out.v[k] = g.v[k] * dsq_slope(in_steps(in.v[k], a, divide), a.steps, shape);
    }
    store<V>(dx, i, out);
  }
};

struct PactForward {
  const float* x;
  float* y;
  ClipRange clip;
  bool divide;
  template <int V, class Walk>
  __device__ void run(Walk& walk, std::int64_t i) const {
    const auto in = load<V>(x, i);
    Pack<float, V> out;
#pragma unroll
    for (int k = 0; k < V; ++k, walk.next()) {
      const Affine& a = walk.affine();
      out.v[k] = nearest_step(in_steps(pact_clip(in.v[k], clip.low, clip.high), a, divide), a.steps) * a.scale;
    }
    store<V>(y, i, out);
  }
};

struct AdaForward {
  const float *w, *alpha;
  float* y;
  bool divide;
  template <int V, class Walk>
  __device__ void run(Walk& walk, std::int64_t i) const {
    const auto in = load<V>(w, i), soft = load<V>(alpha, i);
    Pack<float, V> out;
#pragma unroll
    for (int k = 0; k < V; ++k, walk.next()) {
      const Affine& a = walk.affine();
      out.v[k] = adaround_step(in_steps(in.v[k], a, divide), soft.v[k], a.steps) * a.scale;
    }
    store<V>(y, i, out);
  }
};

struct AdaBackward {
  const float *dy, *w, *alpha;
  float* dalpha;
  bool divide;
  template <int V, class Walk>
  __device__ void run(Walk& walk, std::int64_t i) const {
    const auto g = load<V>(dy, i), in = load<V>(w, i), soft = load<V>(alpha, i);
    Pack<float, V> out;
#pragma unroll
    for (int k = 0; k < V; ++k, walk.next()) {
      const Affine& a = walk.affine();
      out.v[k] = g.v[k] * a.scale * adaround_slope(in_steps(in.v[k], a, divide), soft.v[k], a.steps);
    }
    store<V>(dalpha, i, out);
  }
};

struct QdropForward {
  const float* x;
  float* y;
  DropCoin coin;
  bool divide;
  template <int V, class Walk>
  __device__ void run(Walk& walk, std::int64_t i) const {
    const auto in = load<V>(x, i);
    const auto words = words_of<V>(coin, i);
    Pack<float, V> out;
#pragma unroll
    for (int k = 0; k < V; ++k, walk.next()) {
      const Affine& a = walk.affine();
      const float quantized = nearest_step(in_steps(in.v[k], a, divide), a.steps) * a.scale;
      out.v[k] = is_quantized(words.v[k], coin) ? quantized : in.v[k];
    }
    store<V>(y, i, out);
  }
};

}  // namespace

void cuda_dsq_backward(const AffineView& view, DsqShape shape, const float* dy, const float* x, float* dx) {
  each(view, DsqBackward{dy, x, dx, shape, view.divide}, aligned(dy) && aligned(x) && aligned(dx));
}

void cuda_pact_forward(const AffineView& view, ClipRange clip, const float* x, float* y) {
  each(view, PactForward{x, y, clip, view.divide}, aligned(x) && aligned(y));
}

void cuda_adaround_forward(const AffineView& view, const float* w, const float* alpha, float* y) {
  each(view, AdaForward{w, alpha, y, view.divide}, aligned(w) && aligned(alpha) && aligned(y));
}

void cuda_adaround_backward(const AffineView& view, const float* dy, const float* w, const float* alpha,
                            float* dalpha) {
  each(view, AdaBackward{dy, w, alpha, dalpha, view.divide},
       aligned(dy) && aligned(w) && aligned(alpha) && aligned(dalpha));
}

void cuda_qdrop_forward(const AffineView& view, const DropCoin& coin, const float* x, float* y) {
  each(view, QdropForward{x, y, coin, view.divide}, aligned(x) && aligned(y));
}

}  // namespace quench
