// Fake quantizers: what quantization does to a tensor, in float, with a gradient. A FakeQuant is an algorithm
// (one file each in src/fake_quant/): a function of the tensor and of state that somebody else holds: a node of
// a graph (quench/quantizers.h: its inputs) or a Quantizer (quench/quantizer.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "quench/observer.h"
#include "quench/options.h"
#include "quench/quant.h"
#include "quench/random_key.h"
#include "quench/registry.h"

namespace at {
class Tensor;
}

namespace quench {

// What a quantizer computes, without its tensors: all that a forward needs, and what a node of a graph holds. A plan's
// QuantizerSpec (quench/plan.h) says besides how its scale is found, which is settled once the model is calibrated, and
// leaves role and division to the entry and the plan. fake_quant_spec(entry, by) makes the one of the other.
struct FakeQuantSpec {
  std::string algorithm = "fixed";
  QScheme scheme;
  Role role = Role::kActivation;
  QuantizeBy by = QuantizeBy::kReciprocal;
  Options options;  // of the algorithm
  bool operator==(const FakeQuantSpec&) const = default;
};

// With both off a quantizer is the exact identity; docs/numerics.md 5.0.
struct QuantFlags {
  bool observe = false;   // feed the observer
  bool quantize = false;  // with both on, the observer's result is taken over on every forward
};

enum class ParamShape : std::uint8_t { kScalar, kScale, kInput };  // 0-d; like the scales; like x

struct FakeQuantParam {
  std::string name;  // a quantizer's constant is called after the value and this
  ParamShape shape = ParamShape::kScalar;
  bool learnable = true;  // an optimizer's parameter, else a buffer
  double initial = 0.0;
};

// The tensors of one quantizer: scale, zero point (float32; integers where it is not learned), then the
// algorithm's own, in declared order. They belong to the graph or to the Quantizer; buffers among them may be
// written in place.
struct FakeQuantTensors {
  std::vector<at::Tensor> all;
  const at::Tensor& scale() const;
  const at::Tensor& zero_point() const;
  const at::Tensor& own(std::size_t index) const;
};

// What one forward is told besides its tensors.
struct FakeQuantRun {
  QuantFlags flags;
  Observer* observer = nullptr;
  RandomKey key;
  bool reconstructing = false;  // QDrop drops; else it quantizes all
  bool after_relu = false;      // max(x, 0) is quantized (and observed)
};

class FakeQuant {
 public:
  virtual ~FakeQuant() = default;

  // y for x, with the gradient that the algorithm defines. Float32 in, float32 out; x is not empty. An algorithm that
  // takes bfloat16 gets it where the fused loops do (on the CPU, one scale), and gives bfloat16 back.
  virtual at::Tensor quantize(const at::Tensor& x, const FakeQuantTensors& tensors, const FakeQuantRun& run) const = 0;
  virtual bool takes_bfloat16() const { return false; }
  // Whether quantize() heeds run.after_relu, for float32 on CUDA; others are given max(x, 0).
  virtual bool takes_relu() const { return false; }
  // What is really quantized: seen by the observer, baked by exporters (DoReFa: the transformed weight).
  virtual at::Tensor transform(const at::Tensor& x) const;
  // Takes over what an observer found: scale and zero point, and what is derived from them.
  virtual void accept(const QParams& params, const FakeQuantTensors& tensors) const;
  // What an exporter writes: the scales and zero points that quantize() really uses.
  virtual QParams deployed(const FakeQuantTensors& tensors) const;

  const FakeQuantSpec& spec() const { return spec_; }
  const QScheme& scheme() const { return spec_.scheme; }

 protected:
  explicit FakeQuant(FakeQuantSpec spec) : spec_(std::move(spec)) {}

 private:
  FakeQuantSpec spec_;
};

struct FakeQuantEntry {
  static constexpr const char* kKind = "fake quantizer";
  std::unique_ptr<FakeQuant> (*make)(const FakeQuantSpec& spec);  // options already checked
  std::vector<OptionInfo> options = {};
  std::vector<FakeQuantParam> (*params)(const FakeQuantSpec& spec) = nullptr;  // beyond scale and zero point
  bool learns_scale = false;
  bool learns_zero_point = false;
  bool for_weights = true;
  bool for_activations = true;
  bool per_channel = true;
  std::vector<Format> formats = {Format::kInt};
};
using FakeQuantRegistry = Registry<FakeQuantEntry>;

// Checks role, scheme and options against what the algorithm takes.
std::unique_ptr<FakeQuant> make_fake_quant(const FakeQuantSpec& spec);

// All tensors of a quantizer, scale and zero point first, as `sizes` (of the data) shape them.
std::vector<FakeQuantParam> params_of(const FakeQuantSpec& spec);
// Throws if a value makes no sense: not finite, a scale that is not positive, a zero point that is not a code. What
// learns may leave its range (a negative scale), but not be NaN.
void check_values(const FakeQuantSpec& spec, const FakeQuantTensors& tensors);
FakeQuantTensors make_tensors(const FakeQuantSpec& spec, const std::vector<std::int64_t>& sizes);

// One forward under the contract that all algorithms share. To observe, an observer of the same scheme must be
// given; with both flags on it must be refreshable. Half and bfloat16 are computed in float and given back as they
// came. The tensors must have the shapes of make_tensors() for x, or one element.
at::Tensor run_fake_quant(const FakeQuant& algorithm, const at::Tensor& x, const FakeQuantTensors& tensors,
                          const FakeQuantRun& run);

}  // namespace quench
