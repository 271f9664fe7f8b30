// The five gradients of ExampleQuant, worked out by hand, and the rounding of ties.   quantizer_test PLUGIN.so
#include <ATen/ATen.h>

#include <cmath>
#include <iostream>

#include "quench/plugin.h"
#include "quench/quantizer.h"

namespace {

int failures = 0;

void expect(const char* what, const at::Tensor& found, const std::vector<float>& wanted) {
  if (at::allclose(found.reshape(-1), at::tensor(wanted), 1e-5, 1e-6)) return;
  std::cerr << what << " is " << found.reshape(-1) << ", not " << at::tensor(wanted) << "\n";
  ++failures;
}

}  // namespace

int main(int, char** argv) {
  if (!argv[1]) return std::cerr << "usage: quantizer_test PLUGIN.so\n", 1;
  quench::load_plugin(argv[1]);
  quench::Quantizer quantizer({"example", quench::QScheme::parse("int4 affine tensor")}, {});
  quantizer.load({{"scale", at::full({}, 0.5F)},
                  {"zero_point", at::full({}, 1.0F)},
                  {"quant_min", at::full({}, -6.0F)},
                  {"quant_max", at::full({}, 5.0F)},
                  {"flags", at::tensor({0, 1}, at::kByte)}});
  // In steps: 2.5 and -2.5 are ties, rounded up; 100 and -100 are cut to p - z = 4 and n - z = -7.
  const at::Tensor x = at::tensor({1.25F, -1.25F, 50.0F, -50.0F, 0.55F}).requires_grad_();
  const at::Tensor y = quantizer(x);
  expect("y", y, {1.5F, -1.0F, 2.0F, -3.5F, 0.5F});
  y.backward(at::tensor({1.0F, 2.0F, 3.0F, 4.0F, 5.0F}));
  const float factor = 1.0F / std::sqrt(5.0F * 7.0F);  // of all but x: 5 elements, the greatest code of int4
  const auto learned = quantizer.parameters();
  expect("dx", x.grad(), {1.0F, 2.0F, 0.0F, 0.0F, 5.0F});
  expect("ds", learned.at("scale").grad(), {(0.5F + 2 * 0.5F + 3 * 4 + 4 * -7 + 5 * (1 - 1.1F)) * factor});
  expect("dz", learned.at("zero_point").grad(), {-0.5F * (3 + 4) * factor});
  expect("dn", learned.at("quant_min").grad(), {0.5F * 4 * factor});
  expect("dp", learned.at("quant_max").grad(), {0.5F * 3 * factor});
  std::cout << (failures == 0 ? "gradients: as worked out\n" : "gradients: wrong\n");
  return failures == 0 ? 0 : 1;
}
