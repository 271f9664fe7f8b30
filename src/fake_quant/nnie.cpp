// nnie: HiSilicon's logarithmic codes, 16 to an octave (docs/numerics.md 5.9). The scale holds the greatest magnitude.
// The gradient passes everywhere.
#include <ATen/ATen.h>

#include "quench/fake_quant.h"
#include "quench/gradient.h"
#include "quench/vendor_node.h"

namespace quench {
namespace {

constexpr double kPerOctave = 16.0;
constexpr double kCodes = 127.0;

at::Tensor magnitude(const at::Tensor& x, const at::Tensor& offset, double least) {
  const at::Tensor code = at::round(at::log2(x) * kPerOctave - offset).clamp(least, kCodes);
  return at::exp2((code + offset) / kPerOctave);
}

// In float64, as the reference does: a float32 logarithm would move codes near the ties.
at::Tensor logarithmic(const at::Tensor& x, const at::Tensor& data_max) {
  const at::Tensor wide = x.to(at::kDouble);
  const at::Tensor offset = at::round(at::log2(data_max.detach().to(at::kDouble)) * kPerOctave) - kCodes;
  const at::Tensor positive = wide > at::exp2((offset - 16) / kPerOctave);
  const at::Tensor negative = wide < -at::exp2((offset - 15) / kPerOctave);
  const at::Tensor zero = at::zeros({}, wide.options());
  at::Tensor y = at::where(positive, magnitude(wide, offset, 0), zero);
  y = at::where(negative, -magnitude(-wide, offset, 1), y);
  return at::where(wide.isnan(), wide, y).to(at::kFloat);
}

class Nnie : public FakeQuant {
 public:
  explicit Nnie(const FakeQuantSpec& spec) : FakeQuant(spec) {}

  at::Tensor quantize(const at::Tensor& x, const FakeQuantTensors& tensors, const FakeQuantRun&) const override {
    return apply_rule({x}, {.forward = [&](const Tensors& in) { return logarithmic(in[0], tensors.scale()); },
                            .backward = [](const at::Tensor& dy, const Tensors&) -> Tensors { return {dy}; },
                            .save = [](const Tensors&, const at::Tensor&) -> Tensors { return {}; }});
  }
};

QUENCH_REGISTER_ITEM(FakeQuantEntry, "nnie", "logarithmic codes, 16 to an octave (HiSilicon NNIE)",
                     {.make = [](const FakeQuantSpec& spec) -> std::unique_ptr<FakeQuant> {
                        return std::make_unique<Nnie>(spec);
                      },
                      .per_channel = false,
                      .formats = {Format::kLog}})
QUENCH_REGISTER_ITEM(VendorNode, "nnie", "greatest magnitude", {{"NNIEQuantize", VendorLayout::kMagnitude}, {}})

}  // namespace
}  // namespace quench
