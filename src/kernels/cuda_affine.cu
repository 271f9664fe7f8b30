// kernels/affine.h on CUDA, element by element.
#include "kernels/cuda_each.cuh"
#include "kernels/cuda_table.h"

namespace quench {
namespace {

struct FakeQuantize {
  const float* x;
  float* y;
  bool divide;
  template <int V, class Walk>
  __device__ void run(Walk& walk, std::int64_t i) const {
    const auto in = load<V>(x, i);
    Pack<float, V> out;
#pragma unroll
    for (int k = 0; k < V; ++k, walk.next()) {
      const Affine& a = walk.affine();
      out.v[k] = nearest_step(in_steps(in.v[k], a, divide), a.steps) * a.scale;
    }
    store<V>(y, i, out);
  }
};

struct Codes {
  const float* x;
  std::int32_t* q;
  bool divide;
  template <int V, class Walk>
  __device__ void run(Walk& walk, std::int64_t i) const {
    const auto in = load<V>(x, i);
    Pack<std::int32_t, V> out;
#pragma unroll
    for (int k = 0; k < V; ++k, walk.next()) {
      const Affine& a = walk.affine();
      out.v[k] = code_of(in_steps(in.v[k], a, divide), a.steps, walk.zero_point());
    }
    store<V>(q, i, out);
  }
};

struct Dequantize {
  const std::int32_t* q;
  float* y;
  template <int V, class Walk>
  __device__ void run(Walk& walk, std::int64_t i) const {
    const auto in = load<V>(q, i);
    Pack<float, V> out;
#pragma unroll
    for (int k = 0; k < V; ++k, walk.next()) out.v[k] = step_of_code(in.v[k], walk.zero_point()) * walk.affine().scale;
    store<V>(y, i, out);
  }
};

struct Masked {
  const float* x;
  float* y;
  bool* mask;
  bool divide;
  template <int V, class Walk>
  __device__ void run(Walk& walk, std::int64_t i) const {
    const auto in = load<V>(x, i);
    Pack<float, V> out;
    Pack<bool, V> inside;
#pragma unroll
    for (int k = 0; k < V; ++k, walk.next()) {
      const Affine& a = walk.affine();
      const float v = in_steps(in.v[k], a, divide);
      out.v[k] = nearest_step(v, a.steps) * a.scale;
      inside.v[k] = in_range(v, a.steps);
    }
    store<V>(y, i, out);
    store<V>(mask, i, inside);
  }
};

struct MaskedGradient {
  const float* dy;
  const bool* mask;
  float* dx;
  template <int V, class Walk>
  __device__ void run(Walk&, std::int64_t i) const {
    const auto in = load<V>(dy, i);
    const auto inside = load<V>(mask, i);
    Pack<float, V> out;
#pragma unroll
    for (int k = 0; k < V; ++k) out.v[k] = inside.v[k] ? in.v[k] : 0.0F;
    store<V>(dx, i, out);
  }
};

}  // namespace

void cuda_fake_quantize(const AffineView& view, const float* x, float* y) {
  each(view, FakeQuantize{x, y, view.divide}, aligned(x) && aligned(y));
}

void cuda_codes(const AffineView& view, const float* x, std::int32_t* q) {
  each(view, Codes{x, q, view.divide}, aligned(x) && aligned(q));
}

void cuda_dequantize(const AffineView& view, const std::int32_t* q, float* y) {
  each(view, Dequantize{q, y}, aligned(q) && aligned(y));
}

void cuda_masked(const AffineView& view, const float* x, float* y, bool* mask) {
  each(view, Masked{x, y, mask, view.divide}, aligned(x) && aligned(y) && aligned(mask));
}

// The walk reads a scale at its start; here there is none, so that the gradient itself stands in for it.
void cuda_masked_gradient(std::int64_t count, const float* dy, const bool* mask, float* dx) {
  AffineView view{1, 1, count};
  view.scale = view.zero_point = dy;
  each(view, MaskedGradient{dy, mask, dx}, aligned(dy) && aligned(mask) && aligned(dx));
}

}  // namespace quench
