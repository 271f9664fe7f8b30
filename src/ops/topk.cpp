// TopK: the greatest or least elements along an axis. Of equal elements the one with the lower index comes first.
#include <ATen/ATen.h>

#include "graph/tensor_types.h"
#include "ops/moving.h"
#include "ops/number_types.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

std::vector<RtValue> topk(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& input = in[0].tensor();
  const at::Tensor x = ordered(input);
  const int axis = normalize_axis(node.get_int("axis", -1), static_cast<int>(x.dim()), node);
  const std::vector<std::int64_t> counts = integers_of(in[1].tensor());
  QUENCH_CHECK(counts.size() == 1, "K must be one number, ", counts.size(), " were given");
  QUENCH_CHECK(counts[0] >= 0 && counts[0] <= x.size(axis), "K is ", counts[0], ", but axis ", axis, " has ",
               x.size(axis), " elements");
  // A stable sort: at::topk leaves open which of equal elements it takes.
  const auto [values, indices] = at::sort(x, true, axis, node.get_int("largest", 1) != 0);
  return {RtValue(from_ordered(values.narrow(axis, 0, counts[0]), input.scalar_type()), in[0].dtype()),
          RtValue(indices.narrow(axis, 0, counts[0]))};
}

void topk_shape(Node& node) {
  std::optional<Dims> dims = input_dims(node, 0);
  const auto count = input_contents(node, 1);
  if (dims) {
    const int axis = normalize_axis(node.get_int("axis", -1), static_cast<int>(dims->size()), node);
    (*dims)[static_cast<std::size_t>(axis)] = count && count->size() == 1 ? count->front() : Dim();
  }
  set_type(node, 0, input_dtype(node, 0), dims);
  set_type(node, 1, DType::kInt64, dims);
}

}  // namespace

QUENCH_REGISTER_OP("TopK", topk, topk_shape, moving({1}), "the K greatest or least elements along an axis")

}  // namespace quench
