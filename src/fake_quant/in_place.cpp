#include "fake_quant/in_place.h"

#include <ATen/ATen.h>

namespace quench {

void write_in_place(const at::Tensor& target, const at::Tensor& value) {
  target.variable_data().copy_(value.detach().reshape(target.sizes()));
}

}  // namespace quench
