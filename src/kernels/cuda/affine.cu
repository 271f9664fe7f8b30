// kernels/affine/affine.h on CUDA, element by element.
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/table.h"

namespace quench {
namespace {

struct FakeQuantize {
  bool divide, relu;
  __device__ float operator()(const Affine& a, float x) const {
    return nearest_step(in_steps(rectified(x, relu), a, divide), a.steps) * a.scale;
  }
};

struct Codes {
  bool divide;
  __device__ std::int32_t operator()(const Channel& c, float x) const {
    return code_of(in_steps(x, c, divide), c.steps, c.zero_point);
  }
};

struct Dequantize {
  __device__ float operator()(const Channel& c, std::int32_t q) const {
    return step_of_code(q, c.zero_point) * c.scale;
  }
};

// Two results, so it is not a map().
struct Masked {
  const float* x;
  float* y;
  bool* mask;
  bool divide, relu;
  template <int V, class Walk>
  __device__ void run(Walk& walk, std::int64_t i) const {
    const auto in = load<V>(x, i);
    Pack<float, V> out;
    Pack<bool, V> inside;
#pragma unroll
    for (int k = 0; k < V; ++k, walk.next()) {
      const Affine& a = walk.channel();
      const float v = in_steps(rectified(in.v[k], relu), a, divide);
      out.v[k] = nearest_step(v, a.steps) * a.scale;
      inside.v[k] = in_range(v, a.steps) && relu_passes(in.v[k], relu);
    }
    store<V>(y, i, out);
    store<V>(mask, i, inside);
  }
};

struct MaskedGradient {
  __device__ float operator()(const Affine&, float dy, bool inside) const { return inside ? dy : 0.0F; }
};

}  // namespace

void cuda_fake_quantize(const AffineView& view, const float* x, float* y) {
  map(view, FakeQuantize{view.divide, view.after_relu}, y, Memory{x});
}

void cuda_codes(const AffineView& view, const float* x, std::int32_t* q) {
  map(view, Codes{view.divide}, q, Memory{x});
}

void cuda_dequantize(const AffineView& view, const std::int32_t* q, float* y) { map(view, Dequantize{}, y, Memory{q}); }

void cuda_masked(const AffineView& view, const float* x, float* y, bool* mask) {
  each(view, Masked{x, y, mask, view.divide, view.after_relu}, aligned(x) && aligned(y) && aligned(mask));
}

// The walk reads a scale at its start; here there is none, so the gradient itself stands in for it.
void cuda_masked_gradient(std::int64_t count, const float* dy, const bool* mask, float* dx) {
  AffineView view{1, 1, count};
  view.scale = view.zero_point = dy;
  map(view, MaskedGradient{}, dx, Memory{dy}, Memory{mask});
}

}  // namespace quench
