// FlexAttention (ai.onnx.preview): scaled dot product whose scores and probabilities go through the user's bodies.
#include <ATen/ATen.h>

#include <array>
#include <cmath>

#include "graph/tensor_types.h"
#include "ops/body_types.h"
#include "ops/heads.h"
#include "ops/macs.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::array<const char*, 2> kBodies = {"score_mod", "prob_mod"};
constexpr std::size_t kOwnInputs = 3;  // what bodies capture follows

// Of scores and probabilities; half and bfloat16 are too narrow unless asked for.
DType softmax_type(const Node& node, DType data) {
  const std::int64_t wanted = node.get_int("softmax_precision", 0);
  const DType type = wanted != 0 ? dtype_from_onnx(wanted) : data == DType::kDouble ? DType::kDouble : DType::kFloat;
  QUENCH_CHECK(is_floating(type) && bits_of(type) >= 16, node.where(), ": softmax_precision is ", name_of(type),
               "; expected float, double, float16 or bfloat16");
  return type;
}

// The tensor itself where the node has no such body.
at::Tensor modified(const Node& node, const char* attr, const at::Tensor& x, const Inputs& in, ExecContext& context) {
  if (!node.has(attr)) return x;
  std::vector<RtValue> arguments = {x};
  arguments.insert(arguments.end(), in.begin() + kOwnInputs, in.end());
  const std::vector<RtValue> made = context.run_body(node.require_graph(attr), arguments);
  QUENCH_CHECK(made.size() == 1 && made[0].is_tensor() && made[0].tensor().sizes() == x.sizes(), node.where(), ": ",
               attr, " must give one tensor of the shape of its input, ", text_of(dims_of(x)));
  return made[0].tensor().to(x.scalar_type());
}

std::vector<RtValue> flex_attention(const Node& node, const Inputs& in, ExecContext& context) {
  const at::Tensor &q = in[0].tensor(), &k = in[1].tensor(), &v = in[2].tensor();
  QUENCH_CHECK(q.dim() == 4 && k.dim() == 4 && v.dim() == 4, node.where(), ": Q, K and V must have rank 4, not ",
               q.dim(), ", ", k.dim(), " and ", v.dim());
  const std::int64_t share = query_heads_per_key(node, q.size(1), k.size(1));
  const at::Tensor keys = share == 1 ? k : k.repeat_interleave(share, 1);
  const at::Tensor values = share == 1 ? v : v.repeat_interleave(share, 1);
  // Both factors by the root, as the operator's definition has it: the product of unscaled halves may overflow.
  const double root = std::sqrt(node.get_float("scale", 1.0 / std::sqrt(static_cast<double>(q.size(3)))));
  const at::ScalarType type = scalar_type_of(softmax_type(node, in[0].dtype()));
  const at::Tensor scores = at::matmul(q * root, (keys * root).transpose(2, 3)).to(type);
  const at::Tensor p = at::softmax(modified(node, "score_mod", scores, in, context), -1);
  const at::Tensor y = at::matmul(modified(node, "prob_mod", p, in, context), values.to(type));
  return {y.to(v.scalar_type())};
}

void infer_body(Node& node, const char* attr, const TypeInfo& scores) {
  if (!node.has(attr)) return;
  Graph& body = body_of(node, attr);
  QUENCH_CHECK(body.inputs().size() == 1 + static_cast<std::size_t>(node.captures), node.where(), ": ", attr,
               " must take one tensor, not ", body.inputs().size() - static_cast<std::size_t>(node.captures));
  set_capture_types(node, body);
  body.inputs()[0]->set_type(scores);
  infer_shapes(body);
}

void flex_attention_shapes(Node& node) {
  QUENCH_CHECK(node.inputs().size() == kOwnInputs + static_cast<std::size_t>(node.captures), node.where(),
               " takes Q, K and V");
  const auto rank_four = [&](int slot) {
    std::optional<Dims> dims = input_dims(node, slot);
    QUENCH_CHECK(!dims || dims->size() == 4, node.where(), ": Q, K and V must have rank 4, not ", dims->size());
    return dims.value_or(Dims(4));
  };
  const Dims q = rank_four(0), k = rank_four(1), v = rank_four(2);
  const TypeInfo scores = TypeInfo::tensor(softmax_type(node, input_dtype(node, 0)), {q[0], q[1], q[2], k[2]});
  for (const char* attr : kBodies) infer_body(node, attr, scores);
  set_type(node, 0, input_dtype(node, 0), Dims{q[0], q[1], q[2], v[3]});
}

}  // namespace

QUENCH_REGISTER_OP("ai.onnx.preview.FlexAttention", flex_attention, flex_attention_shapes, with_macs(unknown_macs),
                   "attention with bodies that change scores and probabilities")

}  // namespace quench
