// Specs for every registered fake quantizer, for tests that run over all of them.
#pragma once

#include <ATen/ATen.h>

#include "quench/error.h"
#include "quench/quantizer.h"

namespace quench {

// A spec that the algorithm takes: the first of a few schemes that fits.
inline FakeQuantSpec spec_for(const std::string& algorithm, std::vector<std::string> schemes = {}) {
  const FakeQuantEntry& entry = FakeQuantRegistry::instance().get(algorithm);
  if (schemes.empty()) schemes = {"int8 symmetric tensor", "uint8 affine tensor", "log8 tensor"};
  for (const std::string& text : schemes) {
    FakeQuantSpec spec;
    spec.algorithm = algorithm;
    spec.scheme = QScheme::parse(text);
    spec.role = entry.for_activations ? Role::kActivation : Role::kWeight;
    try {
      make_fake_quant(spec);
      return spec;
    } catch (const Error&) {
      continue;
    }
  }
  fail("no scheme fits '", algorithm, "'");
}

inline FakeQuantSpec spec_of(const std::string& algorithm, const std::string& scheme, Role role = Role::kActivation,
                             Options options = {}) {
  FakeQuantSpec spec;
  spec.algorithm = algorithm;
  spec.scheme = QScheme::parse(scheme);
  spec.role = role;
  spec.options = std::move(options);
  return spec;
}

// Calibrated on x, quantizing.
inline Quantizer quantizing(const FakeQuantSpec& spec, const at::Tensor& x) {
  Quantizer quantizer(spec, x.sizes().vec(), make_observer("min_max", spec.scheme));
  quantizer.flags = {.observe = true, .quantize = false};
  quantizer(x);
  quantizer.calibrated();
  quantizer.flags = {.observe = false, .quantize = true};
  return quantizer;
}

inline at::Tensor sample(std::vector<std::int64_t> sizes, int seed = 1) {
  at::manual_seed(static_cast<std::uint64_t>(seed));
  return at::randn(sizes);
}

}  // namespace quench
