// The gradients with sums on CUDA: LSQ, PACT, QDrop; and the table of all CUDA loops.
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/table.h"
#include "quant/pact.h"

namespace quench {
namespace {

// Two sums: in float within a thread (16 elements, or its share of a chunk of rows), in float64 from there on.
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
  __device__ static Part part(const State& state) { return {state.first, state.second}; }
};

// kDivide is known when it is compiled: a division takes registers that loads ahead could have.
template <bool kDivide>
struct LsqBackward : Summing {
  bool relu;
  __device__ float operator()(const Affine& a, State& state, float dy, float x) const {
    const float v = in_steps(rectified(x, relu), a, kDivide);
    const bool inside = in_range(v, a.steps);
    state.first += dy * scale_slope(v, a.steps);
    state.second += inside ? 0.0F : dy;
    return inside && relu_passes(x, relu) ? dy : 0.0F;
  }
};

struct PactBackward : Summing {
  PactEnds ends;
  bool divide;
  __device__ float operator()(const Affine& a, State& state, float dy, float x) const {
    const ClipRange clip = ends.range();
    state.first += x > clip.high ? dy : 0.0F;
    state.second += x < clip.low ? dy : 0.0F;
    return pact_passes(x, in_steps(x, a, divide), clip.low, clip.high, a.steps) ? dy : 0.0F;
  }
};

struct QdropBackward : Summing {
  DropCoin coin;
  bool divide;
  __device__ float operator()(const Affine& a, State& state, float dy, float x, std::uint32_t word) const {
    const float v = in_steps(x, a, divide);
    const bool quantized = is_quantized(word, coin);
    state.first += quantized ? dy * scale_slope(v, a.steps) : 0.0F;
    return !quantized || in_range(v, a.steps) ? dy : 0.0F;
  }
};

struct ToScaleAndZero {
  AffineView view;
  float *ds, *dz;
  __device__ void operator()(std::int64_t channel, const TwoSums& sum) const {
    ds[channel] = static_cast<float>(sum.first) * view.sum_factor;
    dz[channel] = static_cast<float>(-sum.second * affine_at(view, channel).scale) * view.sum_factor;
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
  const ToScaleAndZero finish{view, ds, dz};
  if (view.divide)
    map_sum(view, LsqBackward<true>{{}, view.after_relu}, finish, dx, Memory{dy}, Memory{x});
  else
    map_sum(view, LsqBackward<false>{{}, view.after_relu}, finish, dx, Memory{dy}, Memory{x});
}

void cuda_pact_backward(const AffineView& view, ClipRange clip, const float* dy, const float* x, float* dx,
                        float* sums) {
  map_sum(view, PactBackward{{}, {clip, view.clip}, view.divide}, ToBoth{sums}, dx, Memory{dy}, Memory{x});
}

void cuda_qdrop_backward(const AffineView& view, const DropCoin& coin, const float* dy, const float* x, float* dx,
                         float* ds) {
  map_sum(view, QdropBackward{{}, coin, view.divide}, ToScale{ds}, dx, Memory{dy}, Memory{x}, Coins{coin});
}

const Kernels& cuda_kernels() {
  static const Kernels table = {
      cuda_fake_quantize,     cuda_codes,         cuda_dequantize,    cuda_masked,        cuda_masked_gradient,
      cuda_lsq_backward,      cuda_dsq_backward,  cuda_pact_forward,  cuda_pact_backward, cuda_adaround_forward,
      cuda_adaround_backward, cuda_qdrop_forward, cuda_qdrop_backward};
  return table;
}

}  // namespace quench
