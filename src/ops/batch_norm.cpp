// BatchNormalization: evaluation, training with LibTorch's own kernel, and ONNX's functional training mode.
#include "ops/batch_norm.h"

#include <ATen/ATen.h>

#include <array>
#include <cmath>

#include "ops/arguments.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

at::Tensor normalize(const at::Tensor& x, const std::array<at::Tensor, 4>& state, bool training, double momentum,
                     double epsilon) {
  return at::batch_norm(x, state[0], state[1], state[2], state[3], training, momentum, epsilon,
                        at::globalContext().userEnabledCuDNN());
}

// training_mode = 1: batch statistics; the new running ones are outputs, from the biased variance.
std::vector<RtValue> functional_training(const Node& node, const at::Tensor& x, const std::array<at::Tensor, 4>& state,
                                         double epsilon) {
  std::vector<std::int64_t> axes{0};
  for (std::int64_t i = 2; i < x.dim(); ++i) axes.push_back(i);
  const at::Tensor wide = x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
  const at::Tensor mean = wide.mean(axes), variance = wide.var(axes, /*unbiased=*/false);
  const double momentum = node.get_float("momentum", 0.9);
  const auto blend = [&](const at::Tensor& old, const at::Tensor& now) {
    return old * momentum + now.to(old.scalar_type()) * (1.0 - momentum);
  };
  const at::Tensor y = normalize(x, {state[0], state[1], at::Tensor(), at::Tensor()}, true, 0.0, epsilon);
  return {y, blend(state[2], mean), blend(state[3], variance)};
}

std::vector<RtValue> batch_normalization(const Node& node, const Inputs& in, ExecContext& context) {
  const at::Tensor& x = in[0].tensor();
  const double epsilon = node.get_float("epsilon", 1e-5);
  std::array<at::Tensor, 4> state;  // scale, bias, mean, variance
  bool converted = false;
  // LibTorch takes float statistics beside half data, but no other mixture.
  const bool reduced = x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16;
  const bool mixed = reduced && in[3].tensor().scalar_type() == at::kFloat;
  const at::ScalarType type = mixed ? at::kFloat : x.scalar_type();
  for (std::size_t i = 0; i < state.size(); ++i) {
    const at::Tensor& tensor = in[i + 1].tensor();
    const bool fits = tensor.scalar_type() == type;
    state[i] = fits ? tensor : tensor.to(type);
    converted = converted || !fits;
  }
  if (node.get_int("training_mode", 0) != 0) return functional_training(node, x, state, epsilon);
  const bool training = context.training && !node.frozen;
  QUENCH_CHECK(!training || !converted, node.where(), ": training needs scale, bias and statistics of one type");
  if (training && context.shares) return {normalize_with_shares(node, in, *context.shares)};
  if (training) count_batch(node);
  return {normalize(x, state, training, training ? torch_momentum(node) : 0.0, epsilon)};
}

void batch_norm_shapes(Node& node) {
  set_type(node, 0, input_dtype(node, 0), input_dims(node, 0));
  set_type(node, 1, input_dtype(node, 3), input_dims(node, 3));
  set_type(node, 2, input_dtype(node, 4), input_dims(node, 4));
}

OpTraits batch_norm_traits() {
  OpTraits traits;
  traits.parameter_slots = {1, 2};
  traits.buffer_slots = {3, 4};
  return traits;
}

}  // namespace

// ONNX's momentum is a float with about 7 digits and weights the old value; LibTorch's weights the new one.
// Rounding to 7 digits makes 0.9 exactly 0.1, so that training the graph equals training the module.
double torch_momentum(const Node& node) { return std::round((1.0 - node.get_float("momentum", 0.9)) * 1e7) / 1e7; }

void count_batch(const Node& node) {
  const auto at = node.attrs.find("quench.num_batches_tracked");
  if (at == node.attrs.end()) return;
  const auto* counter = std::get_if<TensorAttr>(&at->second);
  QUENCH_CHECK(counter && counter->tensor, node.where(), ": quench.num_batches_tracked must be a tensor");
  at::Tensor(*counter->tensor).add_(1);
}

bool counts_on_host(const Node& node) {
  const auto at = node.attrs.find("quench.num_batches_tracked");
  const auto* counter = at == node.attrs.end() ? nullptr : std::get_if<TensorAttr>(&at->second);
  return counter && counter->tensor && counter->tensor->is_cpu();
}

QUENCH_REGISTER_OP("BatchNormalization", batch_normalization, batch_norm_shapes, batch_norm_traits(),
                   "each channel by its running (training: batch) statistics, scaled and shifted")

}  // namespace quench
