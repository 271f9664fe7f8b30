// kernels/affine/learned.h on CUDA, element by element.
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/table.h"
#include "quant/adaround.h"
#include "quant/pact.h"

namespace quench {
namespace {

struct DsqBackward {
  DsqShape shape;
  bool divide, relu;
  __device__ float operator()(const Affine& a, float dy, float x) const {
    const float dx = dy * dsq_slope(in_steps(rectified(x, relu), a, divide), a.steps, shape);
    return relu_passes(x, relu) ? dx : 0.0F;
  }
};

struct PactForward {
  PactEnds ends;
  bool divide;
  __device__ float operator()(const Affine& a, float x) const {
    const ClipRange clip = ends.range();
    return nearest_step(in_steps(pact_clip(x, clip.low, clip.high), a, divide), a.steps) * a.scale;
  }
};

struct AdaForward {
  bool divide;
  __device__ float operator()(const Affine& a, float w, float alpha) const {
    return adaround_step(in_steps(w, a, divide), alpha, a.steps) * a.scale;
  }
};

struct AdaBackward {
  bool divide;
  __device__ float operator()(const Affine& a, float dy, float w, float alpha) const {
    return dy * a.scale * adaround_slope(in_steps(w, a, divide), alpha, a.steps);
  }
};

struct QdropForward {
  DropCoin coin;
  bool divide;
  __device__ float operator()(const Affine& a, float x, std::uint32_t word) const {
    const float quantized = nearest_step(in_steps(x, a, divide), a.steps) * a.scale;
    return is_quantized(word, coin) ? quantized : x;
  }
};

}  // namespace

void cuda_dsq_backward(const AffineView& view, DsqShape shape, const float* dy, const float* x, float* dx) {
  map(view, DsqBackward{shape, view.divide, view.after_relu}, dx, Memory{dy}, Memory{x});
}

void cuda_pact_forward(const AffineView& view, ClipRange clip, const float* x, float* y) {
  map(view, PactForward{{clip, view.clip}, view.divide}, y, Memory{x});
}

void cuda_adaround_forward(const AffineView& view, const float* w, const float* alpha, float* y) {
  map(view, AdaForward{view.divide}, y, Memory{w}, Memory{alpha});
}

void cuda_adaround_backward(const AffineView& view, const float* dy, const float* w, const float* alpha,
                            float* dalpha) {
  map(view, AdaBackward{view.divide}, dalpha, Memory{dy}, Memory{w}, Memory{alpha});
}

void cuda_qdrop_forward(const AffineView& view, const DropCoin& coin, const float* x, float* y) {
  map(view, QdropForward{coin, view.divide}, y, Memory{x}, Coins{coin});
}

}  // namespace quench
