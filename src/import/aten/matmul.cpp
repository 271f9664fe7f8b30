// Matrix products of LibTorch -> Gemm, MatMul. A Linear becomes Gemm(transB=1) on the module's own weight.
#include <ATen/ATen.h>

#include "import/aten/aten.h"
#include "quench/error.h"

namespace quench {
namespace {

// What `value` is the plain transpose of (aten::t of a matrix); null if it is not one.
Value* transposed_matrix(const Value& value) {
  const Node* producer = value.producer();
  if (!producer || producer->op() != "Transpose" || value.rank() != 2) return nullptr;
  if (producer->get_ints("perm", {1, 0}) != std::vector<std::int64_t>{1, 0}) return nullptr;
  return producer->input(0);
}

Value& product(AtenCall& call, Value& a, Value& b) {
  Value* weight = transposed_matrix(b);
  if (weight && weight->is_constant() && a.rank() == 2)
    return call.make("Gemm", {&a, weight}, {{"transB", std::int64_t{1}}});
  return call.make("MatMul", {&a, &b});
}

Values map_mm(AtenCall& call) {
  return {&product(call, call.tensor("self"), call.tensor(call.has("mat2") ? "mat2" : "other"))};
}
Values map_mv(AtenCall& call) { return {&call.make("MatMul", {&call.tensor("self"), &call.tensor("vec")})}; }
Values map_dot(AtenCall& call) { return {&call.make("MatMul", {&call.tensor("self"), &call.tensor("tensor")})}; }

// beta * self + alpha * (a @ b)
Values map_addmm(AtenCall& call) {
  Value &c = call.tensor("self"), &a = call.tensor("mat1"), &b = call.tensor("mat2");
  Attrs attrs;
  const double alpha = call.real("alpha", 1.0), beta = call.real("beta", 1.0);
  if (alpha != 1.0) attrs["alpha"] = alpha;
  if (beta != 1.0) attrs["beta"] = beta;
  Value* weight = transposed_matrix(b);
  if (weight) attrs["transB"] = std::int64_t{1};
  return {&call.make("Gemm", {&a, weight ? weight : &b, &c}, attrs)};
}

Value& scaled(AtenCall& call, Value& value, double factor) {
  return factor == 1.0 ? value : call.aux("Mul", {&value, &call.scalar(factor, value.dtype())});
}

Values map_baddbmm(AtenCall& call) {
  Value& matrices = call.aux("MatMul", {&call.tensor("batch1"), &call.tensor("batch2")});
  Value& left = scaled(call, call.tensor("self"), call.real("beta", 1.0));
  return {&call.make("Add", {&left, &scaled(call, matrices, call.real("alpha", 1.0))})};
}

Values map_linear(AtenCall& call) {
  Value &x = call.tensor("input"), &weight = call.tensor("weight");
  Value* bias = call.tensor_or_null("bias");
  if (x.rank() == 2) {
    Values inputs{&x, &weight};
    if (bias) inputs.push_back(bias);
    return {&call.make("Gemm", inputs, {{"transB", std::int64_t{1}}})};
  }
  Value& turned = call.transpose(weight, {1, 0});
  if (!bias) return {&call.make("MatMul", {&x, &turned})};
  return {&call.make("Add", {&call.aux("MatMul", {&x, &turned}), bias})};
}

Values map_einsum(AtenCall& call) {
  return {&call.make("Einsum", call.tensors("tensors"), {{"equation", call.text("equation", "")}})};
}

// a x1 A x2 + b, with the weight [out, in1, in2]
Values map_bilinear(AtenCall& call) {
  Value& result = call.aux("Einsum", {&call.tensor("input1"), &call.tensor("weight"), &call.tensor("input2")},
                           {{"equation", std::string("...i,oij,...j->...o")}});
  Value* bias = call.tensor_or_null("bias");
  return {bias ? &call.make("Add", {&result, bias}) : &result};
}

}  // namespace

QUENCH_REGISTER_ATEN_LAYER("mm", map_mm, "Gemm, MatMul")
QUENCH_REGISTER_ATEN_LAYER("bmm", map_mm, "MatMul")
QUENCH_REGISTER_ATEN_LAYER("matmul", map_mm, "Gemm, MatMul")
QUENCH_REGISTER_ATEN_LAYER("mv", map_mv, "MatMul")
QUENCH_REGISTER_ATEN_LAYER("dot", map_dot, "MatMul")
QUENCH_REGISTER_ATEN_LAYER("addmm", map_addmm, "Gemm")
QUENCH_REGISTER_ATEN_LAYER("baddbmm", map_baddbmm, "MatMul, Add")
QUENCH_REGISTER_ATEN_LAYER("linear", map_linear, "Gemm; MatMul, Add")
QUENCH_REGISTER_ATEN_LAYER("bilinear", map_bilinear, "Einsum, Add")
QUENCH_REGISTER_ATEN("einsum", map_einsum, "Einsum")

}  // namespace quench
