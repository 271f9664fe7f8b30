// Which plain integer op (quant/integer_ops.h) computes an ONNX operator on codes.
#pragma once

#include <string>
#include <vector>

#include "quant/integer_ops.h"
#include "quench/graph.h"

namespace quench {

struct IntegerCall {
  const Node& node;  // for its attributes
  std::vector<QTensor> in;
  const at::Tensor& bias;  // int32 at s_x * s_w, or undefined
  Output y;
};

bool has_integer_op(const std::string& op);  // Conv, Gemm, Add ...
at::Tensor compute_on_codes(const std::string& op, const IntegerCall& call);

}  // namespace quench
