// LearnableFakeQuantize: the scale learns. Rounding passes the gradient straight through, the gradient of the scale is
// multiplied by 1 / sqrt(N quant_max); all else is left to autograd.
#include <ATen/ATen.h>

#include <cmath>

#include "quench/fake_quant.h"

namespace {

constexpr double kLeastScale = 1.1920929e-7;  // what FakeQuant::deployed() writes for less

at::Tensor round_straight_through(const at::Tensor& x) { return x + (x.round() - x).detach(); }
at::Tensor with_gradient_scaled(const at::Tensor& x, double by) { return x * by + (x - x * by).detach(); }

class LearnableFakeQuantize : public quench::FakeQuant {
 public:
  explicit LearnableFakeQuantize(const quench::FakeQuantSpec& spec) : FakeQuant(spec) {}

  at::Tensor quantize(const at::Tensor& x, const quench::FakeQuantTensors& tensors,
                      const quench::FakeQuantRun&) const override {
    const double sharing = static_cast<double>(x.numel()) / static_cast<double>(tensors.scale().numel());
    at::Tensor scale =
        with_gradient_scaled(tensors.scale().abs().clamp_min(kLeastScale), 1.0 / std::sqrt(sharing * scheme().qmax()));
    at::Tensor zero = tensors.zero_point();
    if (!scheme().per_tensor()) {
      std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
      shape[static_cast<std::size_t>(scheme().axis_of(static_cast<int>(x.dim())))] = -1;
      scale = scale.reshape(shape);
      zero = zero.reshape(shape);
    }
    const at::Tensor code = (round_straight_through(x / scale) + zero).clamp(scheme().qmin(), scheme().qmax());
    return (code - zero) * scale;
  }
};

std::unique_ptr<quench::FakeQuant> make(const quench::FakeQuantSpec& spec) {
  return std::make_unique<LearnableFakeQuantize>(spec);
}

}  // namespace

QUENCH_REGISTER_ITEM(quench::FakeQuantEntry, "my_lsq", "the scale learns (LSQ), by autograd",
                     {.make = make, .learns_scale = true})
