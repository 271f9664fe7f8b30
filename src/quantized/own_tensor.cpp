#include "quantized/own_tensor.h"

#include <ATen/ATen.h>

#include "quench/error.h"

namespace quench {

at::Tensor own_tensor(const Node& quantizer, const std::string& name) {
  const FakeQuantSpec spec = fake_quant_spec(quantizer);
  const std::vector<FakeQuantParam> params = params_of(spec);
  for (std::size_t i = 2; i < params.size(); ++i)
    if (params[i].name == name) return fake_quant_tensors(quantizer).all.at(i);
  fail(quantizer.where(), ": its fake quantizer '", spec.algorithm, "' has no tensor '", name, "' of its own");
}

}  // namespace quench
