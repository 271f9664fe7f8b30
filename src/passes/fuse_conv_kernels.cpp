// fuse_conv_kernels: Conv [-> Add of an equal shape] [-> Relu | Clip | LeakyRelu | HardSwish] becomes one
// quench.FusedConv.
//   before: conv -> add(other) -> relu -> users     after: fused(conv's inputs, other) -> users
// Applies to 2-D float convolutions with constant weights and symmetric pads, where nothing else reads the
// values between. The result runs without gradients.
#include <ATen/ATen.h>

#include <algorithm>
#include <unordered_set>

#include "ops/clamp.h"
#include "passes/rewrite.h"
#include "quench/pass.h"

namespace quench {
namespace {

// oneDNN's name of an activation and its numbers.
struct Activation {
  std::string name = "none";
  std::vector<double> scalars;
};

struct Chain {
  Node* conv = nullptr;
  Node* add = nullptr;         // null: no residual
  Node* activation = nullptr;  // null: none
  Activation kind;
  Node* last() const { return activation ? activation : add ? add : conv; }
};

bool is_fusable_conv(const Node& node) {
  if (node.op() != "Conv" || !node.input(1) || !node.input(1)->is_constant()) return false;
  if (node.input(2) && !node.input(2)->is_constant()) return false;
  const at::Tensor& weight = node.input(1)->tensor();
  if (weight.dim() != 4 || weight.scalar_type() != at::kFloat) return false;
  // The fused activations turn NaN into a number: a broken weight would go unnoticed.
  if (!weight.isfinite().all().item<bool>()) return false;
  const std::vector<std::int64_t> pads = node.get_ints("pads", {0, 0, 0, 0});
  const std::string auto_pad = node.get_string("auto_pad", "NOTSET");
  const auto is_sound = [&](const char* attr) {  // Conv itself refuses what is not
    const std::vector<std::int64_t> steps = node.get_ints(attr, {1, 1});
    return steps.size() == 2 && steps[0] > 0 && steps[1] > 0;
  };
  return (auto_pad == "NOTSET" || auto_pad == "VALID") && pads.size() == 4 && pads[0] == pads[2] &&
         pads[1] == pads[3] && pads[0] >= 0 && pads[1] >= 0 && is_sound("strides") && is_sound("dilations") &&
         node.get_int("group", 1) > 0;
}

std::optional<Activation> activation_of(const Node& node) {
  if (node.op() == "Relu") return Activation{"relu", {}};
  if (node.op() == "HardSwish") return Activation{"hardswish", {}};
  if (node.op() == "LeakyRelu") return Activation{"leaky_relu", {node.get_float("alpha", 0.01)}};
  const Clamp clamp = clamp_of(node);
  if (!clamp.known) return std::nullopt;
  const double most = std::numeric_limits<float>::max();
  return Activation{"hardtanh", {std::max(clamp.low, -most), std::min(clamp.high, most)}};
}

bool has_equal_dims(const Value& a, const Value& b) {
  return a.has_rank() && b.has_rank() && a.rank() == b.rank() &&
         std::equal(a.dims().begin(), a.dims().end(), b.dims().begin(),
                    [](const Dim& x, const Dim& y) { return x.certainly_equal(y); });
}

Value* other_operand(const Node& add, const Value& from) { return add.input(0) == &from ? add.input(1) : add.input(0); }

// Whether `add` adds to `from` a value whose shape is certainly the same.
bool adds_residual(const Node& add, const Value& from) {
  if (add.op() != "Add" || add.inputs().size() != 2) return false;
  const Value* other = other_operand(add, from);
  return other && other != &from && !other->is_constant() && has_equal_dims(*other, from);
}

Chain chain_from(Node& conv) {
  Chain chain;
  chain.conv = &conv;
  if (Node* user = only_user(conv.output())) {
    if (adds_residual(*user, conv.output())) chain.add = user;
  }
  if (Node* user = only_user(chain.last()->output())) {
    if (const std::optional<Activation> kind = activation_of(*user);
        kind && user->input(0) == &chain.last()->output()) {
      chain.activation = user;
      chain.kind = *kind;
    }
  }
  return chain;
}

void fuse(Graph& graph, const Chain& chain) {
  Node& conv = *chain.conv;
  Node& last = *chain.last();
  std::vector<Value*> inputs = {conv.input(0), conv.input(1), conv.input(2)};
  // Asked for only now: fusing another chain may have replaced it.
  if (chain.add) inputs.push_back(other_operand(*chain.add, conv.output()));
  Node& fused = graph.insert_before(last, "quench.FusedConv", conv.name() + ".fused", inputs);
  fused.attrs = conv.attrs;
  if (conv.get_string("auto_pad", "NOTSET") == "VALID") fused.attrs.erase("pads");
  fused.attrs.erase("auto_pad");
  fused.attrs["activation"] = chain.kind.name;
  fused.attrs["scalars"] = chain.kind.scalars;
  const std::string name = last.output().name();
  const TypeInfo type = last.output().type();
  graph.replace_uses(last.output(), fused.output());
  for (Node* node : {chain.activation, chain.add, chain.conv})
    if (node) graph.erase(*node);
  graph.rename(fused.output(), name);
  fused.output().set_type(type);
}

int fuse_conv_kernels(Graph& graph) {
  std::vector<Chain> chains;
  std::unordered_set<const Node*> taken;  // an Add of two convolutions belongs to the later one
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  for (auto at = nodes.rbegin(); at != nodes.rend(); ++at) {
    if (!is_fusable_conv(**at)) continue;
    Chain chain = chain_from(**at);
    if (chain.add && !taken.insert(chain.add).second) {
      chain = Chain();
      chain.conv = *at;
    }
    chains.push_back(chain);
  }
  for (const Chain& chain : chains) fuse(graph, chain);
  return static_cast<int>(chains.size());
}

}  // namespace

QUENCH_REGISTER_PASS("fuse_conv_kernels", fuse_conv_kernels, "Conv, Add and activation as one kernel: for running")

}  // namespace quench
