// Attention (scaled dot product, grouped heads, caches) and RotaryEmbedding.
#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "graph/tensor_types.h"
#include "ops/arguments.h"
#include "ops/heads.h"
#include "ops/macs.h"
#include "ops/number_rules.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

struct Operands {
  at::Tensor q, k, v;     // [B, heads, S, size]
  at::Tensor mask;        // undefined when absent
  at::Tensor valid;       // [B]: how many keys are real; undefined when all
  std::int64_t past = 0;  // keys before the first query
};

Operands operands_of(const Node& node, const Inputs& in) {
  Operands operands{split_heads(node, in[0].tensor(), "q_num_heads"),
                    split_heads(node, in[1].tensor(), "kv_num_heads"),
                    split_heads(node, in[2].tensor(), "kv_num_heads"),
                    tensor_or_undefined(in, 3),
                    tensor_or_undefined(in, 6),
                    0};
  if (given(in, 4)) {
    operands.past = in[4].tensor().size(2);
    operands.k = at::cat({in[4].tensor(), operands.k}, 2);
    operands.v = at::cat({in[5].tensor(), operands.v}, 2);
  }
  return operands;
}

// Which query may look at which key by position, or undefined: [B or 1, 1, S_q, S_k].
at::Tensor allowed_positions(const Node& node, const Operands& operands) {
  const bool causal = node.get_int("is_causal", 0) != 0;
  const std::int64_t left = node.get_int("left_window_size", -1), right = node.get_int("right_window_size", -1);
  const std::int64_t queries = operands.q.size(2), keys = operands.k.size(2);
  const auto options = operands.q.options().dtype(at::kLong).requires_grad(false);
  const at::Tensor key = at::arange(keys, options).reshape({1, 1, 1, keys});
  at::Tensor position = at::arange(queries, options).reshape({1, 1, queries, 1}) + operands.past;
  at::Tensor allowed;
  const auto also = [&](const at::Tensor& more) { allowed = allowed.defined() ? allowed.logical_and(more) : more; };
  if (operands.valid.defined()) {
    const at::Tensor valid = operands.valid.to(at::kLong).reshape({-1, 1, 1, 1});
    also(key < valid);
    if (operands.past == 0) position = position + (valid - queries);
  }
  if (causal) also(key <= position);
  if (left >= 0) also(key >= position - left);
  if (right >= 0) also(key <= position + right);
  return allowed;
}

// The mask as something to add to the scores; shorter masks forbid the keys that they do not reach.
at::Tensor bias_of(const Node& node, const Operands& operands) {
  const double never = -std::numeric_limits<double>::infinity();
  const auto forbid = [&](const at::Tensor& allowed) {
    return at::zeros(allowed.sizes(), operands.q.options()).masked_fill(allowed.logical_not(), never);
  };
  at::Tensor bias;
  if (operands.mask.defined()) {
    bias = operands.mask.scalar_type() == at::kBool ? forbid(operands.mask) : operands.mask;
    const std::int64_t missing = operands.k.size(2) - bias.size(-1);
    if (missing > 0) bias = at::constant_pad_nd(bias, {0, missing}, never);
  }
  const at::Tensor allowed = allowed_positions(node, operands);
  if (allowed.defined()) bias = bias.defined() ? bias + forbid(allowed) : forbid(allowed);
  return bias;
}

at::Tensor probabilities(const Node& node, const at::Tensor& scores) {
  const std::int64_t wanted = node.get_int("softmax_precision", 0);
  const at::ScalarType type = wanted == 0 ? scores.scalar_type() : scalar_type_of(dtype_from_onnx(wanted));
  const at::Tensor p = at::softmax(scores.to(type), -1).to(scores.scalar_type());
  // A query that may look at nothing gets zeros.
  const at::Tensor nothing = (scores == -std::numeric_limits<double>::infinity()).all(-1, true);
  return p.masked_fill(nothing, 0.0);
}

// Y, present key, present value, and the scores at the stage that qk_matmul_output_mode asks for.
std::vector<RtValue> attention(const Node& node, const Inputs& in, ExecContext&) {
  const Operands operands = operands_of(node, in);
  const double scale = node.get_float("scale", 1.0 / std::sqrt(static_cast<double>(operands.q.size(3))));
  const std::int64_t share = query_heads_per_key(node, operands.q.size(1), operands.k.size(1));
  const at::Tensor k = share == 1 ? operands.k : operands.k.repeat_interleave(share, 1);
  const at::Tensor v = share == 1 ? operands.v : operands.v.repeat_interleave(share, 1);
  // Both factors by the root: the product of unscaled halves may overflow.
  at::Tensor scores = at::matmul(operands.q * std::sqrt(scale), k.transpose(2, 3) * std::sqrt(scale));
  const std::int64_t mode = node.get_int("qk_matmul_output_mode", 0);
  at::Tensor shown = scores;
  const double cap = node.get_float("softcap", 0.0);
  if (cap > 0.0) scores = at::tanh(scores / cap) * cap;
  if (mode == 1) shown = scores;
  const at::Tensor bias = bias_of(node, operands);
  if (bias.defined()) scores = scores + bias;
  if (mode == 2) shown = scores;
  const at::Tensor p = probabilities(node, scores);
  if (mode == 3) shown = p;
  const at::Tensor y = at::matmul(p, v);
  return {in[0].tensor().dim() == 3 ? merge_heads(y) : y, operands.k, operands.v, shown};
}

std::vector<RtValue> rotary_embedding(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& given_x = in[0].tensor();
  const at::Tensor x = split_heads(node, given_x, "num_heads");  // [B, heads, S, size]
  const auto angles = [&](std::size_t slot) {                    // [B, 1, S, half]
    const at::Tensor& cache = in[slot].tensor();
    return (given(in, 3) ? at::embedding(cache, in[3].tensor().to(at::kLong)) : cache).unsqueeze(1);
  };
  const at::Tensor cosine = angles(1), sine = angles(2);
  const std::int64_t given_dim = node.get_int("rotary_embedding_dim", 0);
  const std::int64_t dim = given_dim == 0 ? x.size(3) : given_dim;
  QUENCH_CHECK(cosine.size(-1) == dim / 2, node.where(), ": the caches must have ", dim / 2, " columns, not ",
               cosine.size(-1));
  const at::Tensor rotated = x.narrow(3, 0, dim);
  const bool interleaved = node.get_int("interleaved", 0) != 0;
  const at::Tensor first = interleaved ? rotated.slice(3, 0, dim, 2) : rotated.narrow(3, 0, dim / 2);
  const at::Tensor second = interleaved ? rotated.slice(3, 1, dim, 2) : rotated.narrow(3, dim / 2, dim / 2);
  const at::Tensor real = cosine * first - sine * second, imaginary = sine * first + cosine * second;
  at::Tensor y = interleaved ? at::stack({real, imaginary}, -1).flatten(3) : at::cat({real, imaginary}, -1);
  if (dim < x.size(3)) y = at::cat({y, x.narrow(3, dim, x.size(3) - dim)}, 3);
  return {given_x.dim() == 3 ? merge_heads(y) : y};
}

// [B, heads, S, size] of data that may be packed.
Dims unpacked_dims(const Node& node, int slot, const char* attr) {
  const std::optional<Dims> dims = input_dims(node, slot);
  if (dims && dims->size() == 4) return *dims;
  if (!dims || dims->size() != 3 || !node.has(attr)) return Dims(4);
  const Dim heads(node.require_int(attr));
  return {(*dims)[0], heads, (*dims)[1], divide_exactly((*dims)[2], heads)};
}

Dim past_length(const Node& node, int slot) {
  if (!node.input(slot)) return 0;
  const std::optional<Dims> dims = input_dims(node, slot);
  return dims && dims->size() == 4 ? (*dims)[2] : Dim();
}

void attention_shapes(Node& node) {
  const std::optional<Dims> q = input_dims(node, 0), v = input_dims(node, 2);
  std::optional<Dims> y = q;
  if (y && v && y->size() == 4 && v->size() == 4) (*y)[3] = (*v)[3];
  if (y && y->size() == 3) {
    const Dim heads(node.get_int("q_num_heads", 1)), kv_heads(node.get_int("kv_num_heads", 1));
    (*y)[2] = v && v->size() == 3 ? divide_exactly((*v)[2] * heads, kv_heads) : Dim();
  }
  set_type(node, 0, input_dtype(node, 0), y);
  const Dims queries = unpacked_dims(node, 0, "q_num_heads");
  Dims keys = unpacked_dims(node, 1, "kv_num_heads"), values = unpacked_dims(node, 2, "kv_num_heads");
  keys[2] = add_dims(keys[2], past_length(node, 4));
  values[2] = add_dims(values[2], past_length(node, 5));
  set_type(node, 1, input_dtype(node, 1), keys);
  set_type(node, 2, input_dtype(node, 2), values);
  set_type(node, 3, input_dtype(node, 0), Dims{queries[0], queries[1], queries[2], keys[2]});
}

}  // namespace

QUENCH_REGISTER_OP("Attention", attention, attention_shapes, with_macs(unknown_macs),
                   "softmax(Q K / scale) V with masks and caches")
QUENCH_REGISTER_OP("RotaryEmbedding", rotary_embedding, same_as_input, OpTraits{},
                   "rotates pairs of columns by angles of the position")

}  // namespace quench
