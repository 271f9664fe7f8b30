// Step 1, the quantization function: what the chip does to a tensor, with a gradient to x, s, z, n and p.
//   Q(x, s, z, n, p) = s (clamp(round(x / s) + z, n, p) - z), and the chip rounds ties up: floor(v + 1/2).
// n and p are registers of the chip; they start at the ends of the scheme and learn.
#include <ATen/ATen.h>

#include <cmath>

#include "quench/fake_quant.h"
#include "quench/gradient.h"
#include "quench/vendor_node.h"

namespace {

using quench::FakeQuantSpec;
using quench::FakeQuantTensors;
using quench::Tensors;

constexpr float kLeastScale = 1.1920929e-7F;  // what FakeQuant::deployed() writes for less

// Inside of n..p the rounding counts as the identity; outside the code is n or p, whatever x is.
Tensors gradients(const at::Tensor& dy, const Tensors& saved, double factor, bool symmetric) {
  const at::Tensor &x = saved[0], &s = saved[1], &z = saved[2], &n = saved[3], &p = saved[4];
  const at::Tensor v = x / s, code = at::floor(v + 0.5) + z;
  const at::Tensor low = code.lt(n), high = code.gt(p), inside = at::logical_or(low, high).logical_not();
  const at::Tensor slope = at::where(inside, at::floor(v + 0.5) - v, at::where(low, n, p) - z);  // dQ/ds
  const auto sum = [&](const at::Tensor& part) { return (dy * part).sum().mul(factor).reshape(s.sizes()); };
  return {dy * inside, sum(slope), symmetric ? at::Tensor() : sum(at::where(inside, 0.0, -s)), sum(low * s),
          sum(high * s)};
}

class ExampleQuant : public quench::FakeQuant {
 public:
  explicit ExampleQuant(const FakeQuantSpec& spec) : FakeQuant(spec) {}

  at::Tensor quantize(const at::Tensor& x, const FakeQuantTensors& t, const quench::FakeQuantRun&) const override {
    // Parameters wander while they learn: what is used of them is what can be deployed.
    const double least = scheme().qmin(), most = scheme().qmax();
    const at::Tensor s = t.scale().detach().abs().clamp_min(kLeastScale);
    const at::Tensor z = scheme().symmetric() ? at::zeros_like(s) : t.zero_point().detach().round().clamp(least, most);
    const at::Tensor n = t.own(0).detach().round().clamp(least, most), p = t.own(1).detach().round().clamp(least, most);
    const double factor = 1.0 / std::sqrt(static_cast<double>(x.numel()) * most);  // LSQ's
    return quench::apply_rule(
        {x, t.scale(), t.zero_point(), t.own(0), t.own(1)},
        {.forward = [&](const Tensors& in) { return ((at::floor(in[0] / s + 0.5) + z).clamp(n, p) - z) * s; },
         .backward = [factor, symmetric = scheme().symmetric()](
                         const at::Tensor& dy,
                         const Tensors& saved) { return gradients(dy, saved, factor, symmetric); },
         .save = [&](const Tensors& in, const at::Tensor&) -> Tensors { return {in[0], s, z, n, p}; }});
  }
};

std::vector<quench::FakeQuantParam> bounds(const FakeQuantSpec& spec) {
  return {{"quant_min", quench::ParamShape::kScalar, true, static_cast<double>(spec.scheme.qmin())},
          {"quant_max", quench::ParamShape::kScalar, true, static_cast<double>(spec.scheme.qmax())}};
}

std::unique_ptr<quench::FakeQuant> make(const FakeQuantSpec& spec) { return std::make_unique<ExampleQuant>(spec); }

}  // namespace

QUENCH_REGISTER_ITEM(
    quench::FakeQuantEntry, "example", "the example chip's: rounds ties up; scale, zero point and bounds learn",
    {.make = make, .params = bounds, .learns_scale = true, .learns_zero_point = true, .per_channel = false})
// The export symbol: N_quantizers.onnx has nodes ExampleQuant(x, scale, zero_point; quant_min, quant_max), and is read
// back.
QUENCH_REGISTER_ITEM(quench::VendorNode, "example", "the example chip's",
                     {{"ExampleQuant", quench::VendorLayout::kLearnedCodes}, {}})
