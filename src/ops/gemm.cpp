// Matrix products: Gemm and MatMul, and their forms on bytes.
#include <ATen/ATen.h>

#include "ops/arguments.h"
#include "ops/macs.h"
#include "ops/shape_rules.h"
#include "quant/code_tensor.h"
#include "quench/error.h"

namespace quench {
namespace {

at::Tensor gemm_integer(const at::Tensor& a, const at::Tensor& b, const std::optional<at::Tensor>& c, double alpha,
                        double beta) {
  at::Tensor y = at::mm(a.to(at::kLong), b.to(at::kLong));
  if (alpha != 1.0) y = (y * alpha).to(at::kLong);
  if (c) y = y + (beta == 1.0 ? c->to(at::kLong) : (c->to(at::kLong) * beta).to(at::kLong));
  return y.to(a.scalar_type());
}

std::vector<RtValue> gemm(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor &a = in[0].tensor(), &b = in[1].tensor();
  QUENCH_CHECK(a.dim() == 2 && b.dim() == 2, node.where(), ": both factors must be matrices, not of rank ", a.dim(),
               " and ", b.dim());
  const double alpha = node.get_float("alpha", 1.0), beta = node.get_float("beta", 1.0);
  const bool transposed_a = node.get_int("transA", 0) != 0, transposed_b = node.get_int("transB", 0) != 0;
  std::optional<at::Tensor> c = optional_tensor(in, 2);
  const bool plain = alpha == 1.0 && beta == 1.0 && !transposed_a && transposed_b && a.is_floating_point();
  // Exactly the call of torch::nn::Linear, so that forward and backward agree with it bit for bit.
  if (plain && (!c || c->dim() == 1)) return {at::linear(a, b, c)};
  const at::Tensor left = transposed_a ? a.t() : a, right = transposed_b ? b.t() : b;
  if (!a.is_floating_point()) return {gemm_integer(left, right, c, alpha, beta)};
  if (c && beta != 0.0) return {at::addmm(*c, left, right, beta, alpha)};
  const at::Tensor y = at::mm(left, right);
  return {alpha == 1.0 ? y : y * alpha};
}

std::vector<RtValue> mat_mul(const Node&, const Inputs& in, ExecContext&) {
  const at::Tensor &a = in[0].tensor(), &b = in[1].tensor();
  if (is_rare_integer(a)) return {at::matmul(a.to(at::kLong), b.to(at::kLong)).to(a.scalar_type())};
  return {at::matmul(a, b)};
}

// One zero point, one for each row of the left or column of the right factor, or a tensor that broadcasts.
at::Tensor minus_zero_point(const RtValue& codes, const Inputs& in, std::size_t slot, bool left) {
  const at::Tensor wide = codes.tensor().to(at::kDouble);
  if (!given(in, slot)) return wide;
  at::Tensor zero = in[slot].tensor().to(at::kDouble);
  if (zero.numel() == 1) zero = zero.reshape({});
  return wide - (left && zero.dim() == 1 ? zero.unsqueeze(-1) : zero);
}

// Sums of products of bytes are exact in double.
at::Tensor byte_product(const Inputs& in, std::size_t a, std::size_t a_zero, std::size_t b, std::size_t b_zero) {
  return at::matmul(minus_zero_point(in[a], in, a_zero, true), minus_zero_point(in[b], in, b_zero, false));
}

std::vector<RtValue> mat_mul_integer(const Node&, const Inputs& in, ExecContext&) {
  return {byte_product(in, 0, 2, 1, 3).to(at::kLong).to(at::kInt)};
}

// a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero
std::vector<RtValue> qlinear_mat_mul(const Node&, const Inputs& in, ExecContext&) {
  const auto scale = [&](std::size_t slot, bool rows) {
    const at::Tensor tensor = in[slot].tensor().to(at::kFloat);
    if (tensor.numel() == 1) return tensor.reshape({});
    return rows && tensor.dim() == 1 ? tensor.unsqueeze(-1) : tensor;
  };
  const at::Tensor sum = byte_product(in, 0, 2, 3, 5).to(at::kFloat);
  return {nearest_bytes(sum * (scale(1, true) * scale(4, false) / scale(6, true)), in[7].tensor())};
}

void gemm_shapes(Node& node) {
  const std::optional<Dims> a = input_dims(node, 0), b = input_dims(node, 1);
  Dims y(2);
  if (a && a->size() == 2) y[0] = (*a)[node.get_int("transA", 0) != 0 ? 1 : 0];
  if (b && b->size() == 2) y[1] = (*b)[node.get_int("transB", 0) != 0 ? 0 : 1];
  set_type(node, 0, input_dtype(node, 0), y);
}

std::optional<Dims> product_dims(const Node& node, std::optional<Dims> a, std::optional<Dims> b) {
  if (!a || !b || a->empty() || b->empty()) return std::nullopt;
  const Dim inner = a->back(), other = b->size() == 1 ? b->front() : (*b)[b->size() - 2];
  QUENCH_CHECK(!inner.is_number() || !other.is_number() || inner == other, node.where(), ": cannot multiply ",
               text_of(*a), " by ", text_of(*b));
  const bool is_row = a->size() == 1, is_column = b->size() == 1;
  const Dim rows = is_row ? Dim(1) : (*a)[a->size() - 2], columns = b->back();
  a->resize(a->size() - (is_row ? 1 : 2));
  b->resize(b->size() - (is_column ? 1 : 2));
  std::optional<Dims> y = broadcast(*a, *b, node);
  if (!is_row) y->push_back(rows);
  if (!is_column) y->push_back(columns);
  return y;
}

void mat_mul_shapes(Node& node) {
  set_type(node, 0, input_dtype(node, 0), product_dims(node, input_dims(node, 0), input_dims(node, 1)));
}
void mat_mul_integer_shapes(Node& node) {
  set_type(node, 0, DType::kInt32, product_dims(node, input_dims(node, 0), input_dims(node, 1)));
}
void qlinear_mat_mul_shapes(Node& node) {
  set_type(node, 0, input_dtype(node, 7), product_dims(node, input_dims(node, 0), input_dims(node, 3)));
}

int gemm_weight_axis(const Node& node) { return node.get_int("transB", 0) != 0 ? 0 : 1; }

template <int Slot>
int last_axis(const Node& node) {
  const std::optional<Dims> dims = input_dims(node, Slot);
  return dims && !dims->empty() ? static_cast<int>(dims->size()) - 1 : 1;
}

OpTraits gemm_traits() {
  OpTraits traits;
  traits.weight_slot = 1;
  traits.bias_slot = 2;
  traits.weight_axis = gemm_weight_axis;
  traits.parameter_slots = {1, 2};
  traits.macs = product_macs;
  return traits;
}

OpTraits mat_mul_traits(int weight_slot, int (*axis)(const Node&)) {
  OpTraits traits;
  traits.weight_slot = weight_slot;
  traits.weight_axis = axis;
  traits.channel_axis = -1;
  traits.macs = product_macs;
  return traits;
}

OpTraits float_mat_mul_traits() {
  OpTraits traits = mat_mul_traits(1, last_axis<1>);
  traits.parameter_slots = {0, 1};
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("Gemm", gemm, gemm_shapes, gemm_traits(), "alpha * A B + beta * C, either factor transposed")
QUENCH_REGISTER_OP("MatMul", mat_mul, mat_mul_shapes, float_mat_mul_traits(), "matrix product over the last two dims")
QUENCH_REGISTER_OP("MatMulInteger", mat_mul_integer, mat_mul_integer_shapes, mat_mul_traits(1, last_axis<1>),
                   "matrix product of bytes, giving int32")
QUENCH_REGISTER_OP("QLinearMatMul", qlinear_mat_mul, qlinear_mat_mul_shapes, mat_mul_traits(3, last_axis<3>),
                   "matrix product of bytes, requantized")

}  // namespace quench
