// LinearAttention: a state [d_k, d_v] per head, to which every token adds and from which it reads.
//   gated:  S *= exp(g)      delta:  v = beta (v - S^T k)      always:  S += k v^T,  o = scale q^T S
#include <ATen/ATen.h>

#include <cmath>

#include "ops/arguments.h"
#include "ops/heads.h"
#include "ops/macs.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

enum Slot : std::uint8_t { kQuery, kKey, kValue, kPastState, kDecay, kBeta };

struct UpdateRule {
  bool gated = false, delta = false;
};

UpdateRule update_rule(const Node& node) {
  const std::string rule = node.get_string("update_rule", "gated_delta");
  QUENCH_CHECK(rule == "linear" || rule == "gated" || rule == "delta" || rule == "gated_delta", node.where(),
               ": update_rule '", rule, "' is not one of linear, gated, delta, gated_delta");
  return {rule == "gated" || rule == "gated_delta", rule == "delta" || rule == "gated_delta"};
}

// Halves are summed in float, as the operator's definition has it.
at::ScalarType sum_type(const at::Tensor& x) { return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat; }

struct Tokens {
  at::Tensor q, k, v;      // [B, heads, T, size]
  at::Tensor decay, beta;  // [B, heads, T, 1 or d_k], [B, heads or 1, T, 1]; undefined when the rule has none
  at::Tensor state;        // [B, kv heads, d_k, d_v]
};

// A gate with one column per head, `columns` per head, or one for all: [B, T, n] -> [B, heads or 1, T, n / heads].
at::Tensor gate_of(const Node& node, const Inputs& in, Slot slot, bool wanted, const at::Tensor& k, bool one_for_all) {
  const char* name = slot == kDecay ? "decay" : "beta";
  QUENCH_CHECK(given(in, slot) == wanted, node.where(), ": update_rule '",
               node.get_string("update_rule", "gated_delta"), wanted ? "' needs the input " : "' takes no input ",
               name);
  if (!wanted) return {};
  const at::Tensor& gate = in[slot].tensor();
  const std::int64_t heads = k.size(1), other = one_for_all ? 1 : heads * k.size(3);
  QUENCH_CHECK(gate.dim() == 3 && gate.size(0) == k.size(0) && gate.size(1) == k.size(2) &&
                   (gate.size(2) == heads || gate.size(2) == other),
               node.where(), ": ", name, " must be [", k.size(0), ", ", k.size(2), ", ", heads, " or ", other, "]");
  const std::int64_t groups = one_for_all && gate.size(2) == 1 ? 1 : heads;
  return gate.to(sum_type(k)).reshape({gate.size(0), gate.size(1), groups, gate.size(2) / groups}).transpose(1, 2);
}

Tokens tokens_of(const Node& node, const Inputs& in) {
  const auto unpacked = [&](Slot slot, const char* heads) {
    const at::Tensor& x = in[slot].tensor();
    QUENCH_CHECK(x.dim() == 3, node.where(), ": query, key and value must have rank 3, not ", x.dim());
    return split_heads(node, x, heads).to(sum_type(x));
  };
  Tokens tokens{
      unpacked(kQuery, "q_num_heads"), unpacked(kKey, "kv_num_heads"), unpacked(kValue, "kv_num_heads"), {}, {}, {}};
  const UpdateRule rule = update_rule(node);
  tokens.decay = gate_of(node, in, kDecay, rule.gated, tokens.k, false);
  tokens.beta = gate_of(node, in, kBeta, rule.delta, tokens.k, true);
  const std::vector<std::int64_t> shape = {tokens.k.size(0), tokens.k.size(1), tokens.k.size(3), tokens.v.size(3)};
  tokens.state = given(in, kPastState) ? in[kPastState].tensor().to(tokens.k.scalar_type())
                                       : at::zeros(shape, tokens.k.options().requires_grad(false));
  QUENCH_CHECK(tokens.state.sizes() == at::IntArrayRef(shape), node.where(), ": past_state must be [", shape[0], ", ",
               shape[1], ", ", shape[2], ", ", shape[3], "]");
  return tokens;
}

// What the states of all key heads look like to the query heads that share them.
at::Tensor read(const at::Tensor& state, const at::Tensor& q, std::int64_t share) {
  const at::Tensor seen = share == 1 ? state : state.repeat_interleave(share, 1);
  return at::matmul(q.unsqueeze(2), seen).squeeze(2);
}

std::vector<RtValue> linear_attention(const Node& node, const Inputs& in, ExecContext&) {
  Tokens tokens = tokens_of(node, in);
  const std::int64_t share = query_heads_per_key(node, tokens.q.size(1), tokens.k.size(1)), count = tokens.q.size(2);
  const double given_scale = node.get_float("scale", 0.0);
  const double scale = given_scale == 0.0 ? 1.0 / std::sqrt(static_cast<double>(tokens.q.size(3))) : given_scale;
  at::Tensor state = tokens.state;
  std::vector<at::Tensor> outputs;
  for (std::int64_t t = 0; t < count; ++t) {
    const at::Tensor k = tokens.k.select(2, t);
    at::Tensor v = tokens.v.select(2, t);
    if (tokens.decay.defined()) state = state * tokens.decay.select(2, t).exp().unsqueeze(3);
    if (tokens.beta.defined()) v = tokens.beta.select(2, t) * (v - read(state, k, 1));
    state = state + k.unsqueeze(3) * v.unsqueeze(2);
    outputs.push_back(read(state, tokens.q.select(2, t), share) * scale);
  }
  const at::Tensor y = count > 0 ? at::stack(outputs, 2)
                                 : at::zeros({state.size(0), tokens.q.size(1), 0, state.size(3)}, state.options());
  const RtValue& typed = given(in, kPastState) ? in[kPastState] : in[kQuery];
  return {merge_heads(y).to(in[kQuery].tensor().scalar_type()), state.to(typed.tensor().scalar_type())};
}

void linear_attention_shapes(Node& node) {
  const auto packed = [&](Slot slot) {
    const std::optional<Dims> dims = input_dims(node, slot);
    QUENCH_CHECK(!dims || dims->size() == 3, node.where(), ": query, key and value must have rank 3");
    return dims.value_or(Dims(3));
  };
  const Dims q = packed(kQuery), v = packed(kValue);
  const Dim q_heads(node.require_int("q_num_heads")), kv_heads(node.require_int("kv_num_heads"));
  set_type(node, 0, input_dtype(node, kQuery), Dims{q[0], q[1], divide_exactly(v[2] * q_heads, kv_heads)});
  set_type(node, 1, input_dtype(node, node.input(kPastState) ? kPastState : kQuery),
           Dims{q[0], kv_heads, divide_exactly(q[2], q_heads), divide_exactly(v[2], kv_heads)});
}

}  // namespace

QUENCH_REGISTER_OP("LinearAttention", linear_attention, linear_attention_shapes, with_macs(unknown_macs),
                   "attention by a state that every token updates and reads")

}  // namespace quench
