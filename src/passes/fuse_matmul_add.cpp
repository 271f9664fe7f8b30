// fuse_matmul_add: a MatMul of a matrix by a weight, and the Add of its bias, are a Gemm.
//   before: x -> MatMul(w) -> Add(b) -> users     after: x -> Gemm(w, b) -> users
// Also if no bias but a BatchNormalization follows, which then folds as after any Gemm. Applies if x is known to be
// of rank 2, w is a matrix made from constants, b a constant [N] or [1, N], and nothing else reads the product.
// Data of a higher rank keeps its MatMul: a Gemm takes matrices only.
#include <ATen/ATen.h>

#include "passes/rewrite.h"
#include "quench/pass.h"

namespace quench {
namespace {

bool is_matrix(const Value* value) { return value && value->has_rank() && value->rank() == 2; }

bool is_linear(const Node& node) {
  return node.op() == "MatMul" && is_matrix(node.input(0)) && is_matrix(node.input(1)) &&
         is_made_of_constants(*node.input(1)) && !is_made_of_constants(*node.input(0)) &&
         is_floating(node.input(0)->dtype()) && only_user(node.output());
}

// The constant that `add` adds to every row of `product`; null if it is something else.
Value* bias_of(const Node& add, const Value& product) {
  if (add.op() != "Add" || add.inputs().size() != 2) return nullptr;
  Value* bias = add.input(0) == &product ? add.input(1) : add.input(0);
  if (!bias || !bias->is_constant() || !product.has_rank() || bias->dtype() != product.dtype()) return nullptr;
  const at::Tensor& tensor = bias->tensor();
  const bool is_row = tensor.dim() == 1 || (tensor.dim() == 2 && tensor.size(0) == 1);
  const bool fits = product.dims()[1] == Dim(tensor.numel());  // one element would have to be repeated
  return is_row && fits ? bias : nullptr;
}

// Code that folds or quantizes a bias expects a vector. What trains keeps its shape: it is its owner's tensor.
void make_vector(Graph& graph, Node& gemm) {
  const Value& bias = *gemm.input(2);
  if (bias.rank() == 1 || bias.is_parameter()) return;
  replace_constant(graph, gemm, 2, bias.tensor().reshape({-1}), bias.name());
}

bool fuse(Graph& graph, Node& product) {
  Node& user = *only_user(product.output());
  Value* bias = bias_of(user, product.output());
  if (!bias && user.op() != "BatchNormalization") return false;
  graph.set_op(product, "Gemm");
  if (!bias) return true;
  graph.set_input(product, 2, bias);
  bypass(graph, user, product.output());
  make_vector(graph, product);
  return true;
}

int fuse_matmul_add(Graph& graph) {
  std::vector<Node*> found;
  for (const auto& node : graph.nodes())
    if (is_linear(*node)) found.push_back(node.get());
  int changes = 0;
  for (Node* node : found) changes += fuse(graph, *node) ? 1 : 0;
  return changes;
}

}  // namespace

QUENCH_REGISTER_PASS("fuse_matmul_add", fuse_matmul_add, "a MatMul by a weight and the Add of its bias become a Gemm")

}  // namespace quench
