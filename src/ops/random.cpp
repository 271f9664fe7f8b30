// Random tensors, drawn from the run's generator; a node with a seed of its own draws the same numbers in
// every run.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <bit>

#include "graph/tensor_types.h"
#include "ops/convert.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

OpTraits random_traits() {
  OpTraits traits;
  traits.random = true;
  return traits;
}

OpTraits bernoulli_traits() {
  OpTraits traits = random_traits();
  traits.non_negative = true;
  return traits;
}

at::Generator generator_of(const Node& node, ExecContext& context) {
  if (!node.has("seed")) return context.generator();
  at::Generator generator = context.generator().clone();
  generator.set_current_seed(std::bit_cast<std::uint64_t>(node.get_float("seed", 0.0)));
  return generator;
}

DType wanted_dtype(const Node& node, DType fallback) {
  return node.has("dtype") ? dtype_from_onnx(node.require_int("dtype")) : fallback;
}

enum class Law : std::uint8_t { kNormal, kUniform };

template <Law law>
RtValue draw(const Node& node, at::IntArrayRef sizes, DType dtype, ExecContext& context) {
  const at::Generator generator = generator_of(node, context);
  const at::Tensor empty =
      at::empty(sizes, at::TensorOptions(dtype == DType::kDouble ? at::kDouble : at::kFloat).device(context.device()));
  const at::Tensor drawn =
      law == Law::kNormal
          ? at::normal_functional(empty, node.get_float("mean", 0.0), node.get_float("scale", 1.0), generator)
          : at::uniform(empty, node.get_float("low", 0.0), node.get_float("high", 1.0), generator);
  return convert(RtValue(drawn), dtype);
}

template <Law law>
std::vector<RtValue> draw_shape(const Node& node, const Inputs&, ExecContext& context) {
  return {draw<law>(node, node.require_ints("shape"), wanted_dtype(node, DType::kFloat), context)};
}

template <Law law>
std::vector<RtValue> draw_like(const Node& node, const Inputs& in, ExecContext& context) {
  return {draw<law>(node, in[0].tensor().sizes(), wanted_dtype(node, in[0].dtype()), context)};
}

std::vector<RtValue> bernoulli(const Node& node, const Inputs& in, ExecContext& context) {
  const at::Tensor drawn = at::bernoulli(in[0].tensor(), generator_of(node, context));
  return {convert(RtValue(drawn), wanted_dtype(node, in[0].dtype()))};
}

// The input holds unnormalized log-probabilities, one row per sample.
std::vector<RtValue> multinomial(const Node& node, const Inputs& in, ExecContext& context) {
  const at::Tensor chances = at::softmax(in[0].tensor().to(at::kFloat), -1);
  const at::Tensor drawn = at::multinomial(chances, node.get_int("sample_size", 1), true, generator_of(node, context));
  return {convert(RtValue(drawn), wanted_dtype(node, DType::kInt32))};
}

void given_shape(Node& node) {
  const std::vector<std::int64_t> sizes = node.require_ints("shape");
  set_type(node, 0, wanted_dtype(node, DType::kFloat), Dims(sizes.begin(), sizes.end()));
}

void like_shape(Node& node) { set_type(node, 0, wanted_dtype(node, input_dtype(node, 0)), input_dims(node, 0)); }

void multinomial_shape(Node& node) {
  const auto dims = input_dims(node, 0);
  const Dim rows = dims && !dims->empty() ? dims->front() : Dim();
  set_type(node, 0, wanted_dtype(node, DType::kInt32), Dims{rows, node.get_int("sample_size", 1)});
}

}  // namespace

QUENCH_REGISTER_OP("RandomNormal", draw_shape<Law::kNormal>, given_shape, random_traits(), "normal random numbers")
QUENCH_REGISTER_OP("RandomNormalLike", draw_like<Law::kNormal>, like_shape, random_traits(),
                   "normal random numbers, in the shape of the input")
QUENCH_REGISTER_OP("RandomUniform", draw_shape<Law::kUniform>, given_shape, random_traits(), "uniform random numbers")
QUENCH_REGISTER_OP("RandomUniformLike", draw_like<Law::kUniform>, like_shape, random_traits(),
                   "uniform random numbers, in the shape of the input")
QUENCH_REGISTER_OP("Bernoulli", bernoulli, like_shape, bernoulli_traits(), "0 or 1, by the probability given")
QUENCH_REGISTER_OP("Multinomial", multinomial, multinomial_shape, random_traits(),
                   "indices, by their log-probabilities")

}  // namespace quench
