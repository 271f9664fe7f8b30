// The gradients with sums on CUDA: LSQ, PACT, QDrop; and the table of all CUDA loops.
#include "kernels/cuda_reduce.cuh"
#include "kernels/cuda_table.h"
#include "kernels/cuda_words.cuh"
#include "quant/pact.h"

namespace quench {
namespace {

// Two sums: in float within a thread (16 elements, or a row chunk's share), in float64 from there on.
struct TwoSums {
  double first, second;
  __device__ static TwoSums none() { return {0.0, 0.0}; }
  __device__ void merge(const TwoSums& other) {
    first += other.first;
    second += other.second;
  }
};

struct Summing {
  struct State {
    float first, second;
    __device__ static State none() { return {0.0F, 0.0F}; }
  };
  using Part = TwoSums;
  __device__ static Affine context(const AffineView& view, std::int64_t channel) { return affine_at(view, channel); }
  __device__ static Part part(const State& state) { return {state.first, state.second}; }
};

struct LsqBackward : Summing {
  const float *dy, *x;
  float* dx;
  bool divide;
  template <int V>
  __device__ void run(const Affine& a, std::int64_t i, State& state) const {
    const auto g = load<V>(dy, i), in = load<V>(x, i);
    Pack<float, V> out;
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const float v = in_steps(in.v[k], a, divide);
      const bool inside = in_range(v, a.steps);
      out.v[k] = inside ? g.v[k] : 0.0F;
      state.first += g.v[k] * scale_slope(v, a.steps);
      state.second += inside ? 0.0F : g.v[k];
    }
    store<V>(dx, i, out);
  }
};

struct PactBackward : Summing {
  const float *dy, *x;
  float* dx;
  ClipRange clip;
  bool divide;
  template <int V>
  __device__ void run(const Affine& a, std::int64_t i, State& state) const {
    const auto g = load<V>(dy, i), in = load<V>(x, i);
    Pack<float, V> out;
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const float v = in_steps(in.v[k], a, divide);
      out.v[k] = pact_passes(in.v[k], v, clip.low, clip.high, a.steps) ? g.v[k] : 0.0F;
      state.first += in.v[k] > clip.high ? g.v[k] : 0.0F;
      state.second += in.v[k] < clip.low ? g.v[k] : 0.0F;
    }
    store<V>(dx, i, out);
  }
};

struct QdropBackward : Summing {
  const float *dy, *x;
  float* dx;
  DropCoin coin;
  bool divide;
  template <int V>
  __device__ void run(const Affine& a, std::int64_t i, State& state) const {
    const auto g = load<V>(dy, i), in = load<V>(x, i);
    const auto words = words_of<V>(coin, i);
    Pack<float, V> out;
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const float v = in_steps(in.v[k], a, divide);
      const bool quantized = is_quantized(words.v[k], coin);
      out.v[k] = !quantized || in_range(v, a.steps) ? g.v[k] : 0.0F;
      state.first += quantized ? g.v[k] * scale_slope(v, a.steps) : 0.0F;
    }
    store<V>(dx, i, out);
  }
};

struct ToScaleAndZero {
  AffineView view;
  float *ds, *dz;
  __device__ void operator()(std::int64_t channel, const TwoSums& sum) const {
    ds[channel] = static_cast<float>(sum.first);
    dz[channel] = static_cast<float>(-sum.second * affine_at(view, channel).scale);
  }
};

struct ToScale {
  float* ds;
  __device__ void operator()(std::int64_t channel, const TwoSums& sum) const {
    ds[channel] = static_cast<float>(sum.first);
  }
};

struct ToBoth {
  float* sums;
  __device__ void operator()(std::int64_t, const TwoSums& sum) const {
    sums[0] = static_cast<float>(sum.first);
    sums[1] = static_cast<float>(sum.second);
  }
};

}  // namespace

void cuda_lsq_backward(const AffineView& view, const float* dy, const float* x, float* dx, float* ds, float* dz) {
  reduce(view, LsqBackward{{}, dy, x, dx, view.divide}, aligned(dy) && aligned(x) && aligned(dx),
         ToScaleAndZero{view, ds, dz});
}

void cuda_pact_backward(const AffineView& view, ClipRange clip, const float* dy, const float* x, float* dx,
                        float* sums) {
  reduce(view, PactBackward{{}, dy, x, dx, clip, view.divide}, aligned(dy) && aligned(x) && aligned(dx), ToBoth{sums});
}

void cuda_qdrop_backward(const AffineView& view, const DropCoin& coin, const float* dy, const float* x, float* dx,
                         float* ds) {
  reduce(view, QdropBackward{{}, dy, x, dx, coin, view.divide}, aligned(dy) && aligned(x) && aligned(dx), ToScale{ds});
}

const Kernels& cuda_kernels() {
  static const Kernels table = {
      cuda_fake_quantize,     cuda_codes,         cuda_dequantize,    cuda_masked,        cuda_masked_gradient,
      cuda_lsq_backward,      cuda_dsq_backward,  cuda_pact_forward,  cuda_pact_backward, cuda_adaround_forward,
      cuda_adaround_backward, cuda_qdrop_forward, cuda_qdrop_backward};
  return table;
}

}  // namespace quench
