// Det: determinants of square matrices.
#include <ATen/ATen.h>

#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

std::vector<RtValue> determinant(const Node&, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  QUENCH_CHECK(x.dim() >= 2 && x.size(-1) == x.size(-2), "the last two dims must make square matrices");
  // LibTorch factorizes in single or double precision only.
  const bool is_wide = x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble;
  return {at::linalg_det(is_wide ? x : x.to(at::kFloat)).to(x.scalar_type())};
}

void determinant_shape(Node& node) {
  std::optional<Dims> dims = input_dims(node, 0);
  if (dims) {
    QUENCH_CHECK(dims->size() >= 2, node.where(), ": the input has rank ", dims->size(), ", at least 2 is needed");
    dims->resize(dims->size() - 2);
  }
  set_type(node, 0, input_dtype(node, 0), dims);
}

}  // namespace

QUENCH_REGISTER_OP("Det", determinant, determinant_shape, {}, "determinant of square matrices")

}  // namespace quench
