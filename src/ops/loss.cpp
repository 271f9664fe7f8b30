// Losses of classification: negative log-likelihood, and cross-entropy of scores.
#include <ATen/ATen.h>

#include "ops/arguments.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

at::Reduction::Reduction reduction_of(const Node& node) {
  const std::string name = node.get_string("reduction", "mean");
  if (name == "none") return at::Reduction::None;
  if (name == "sum") return at::Reduction::Sum;
  QUENCH_CHECK(name == "mean", node.where(), ": unknown reduction '", name, "'; known: none, mean, sum");
  return at::Reduction::Mean;
}

// Labels of any integer type; without ignore_index no label is ignored, and -1 is none.
at::Tensor likelihood(const Node& node, const at::Tensor& log_probability, const Inputs& in) {
  return at::nll_loss_nd(log_probability, in[1].tensor().to(at::kLong), optional_tensor(in, 2), reduction_of(node),
                         node.get_int("ignore_index", -100));
}

std::vector<RtValue> negative_log_likelihood(const Node& node, const Inputs& in, ExecContext&) {
  return {likelihood(node, in[0].tensor(), in)};
}

std::vector<RtValue> softmax_cross_entropy(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor log_probability = at::log_softmax(in[0].tensor(), 1);
  return {likelihood(node, log_probability, in), log_probability};
}

void loss_shapes(Node& node) {
  const bool reduced = node.get_string("reduction", "mean") != "none";
  set_type(node, 0, input_dtype(node, 0), reduced ? std::optional(Dims{}) : input_dims(node, 1));
  set_type(node, 1, input_dtype(node, 0), input_dims(node, 0));
}

}  // namespace

QUENCH_REGISTER_OP("NegativeLogLikelihoodLoss", negative_log_likelihood, loss_shapes, OpTraits{},
                   "-log p of the labels, weighted and averaged")
QUENCH_REGISTER_OP("SoftmaxCrossEntropyLoss", softmax_cross_entropy, loss_shapes, OpTraits{},
                   "cross-entropy of scores and labels")

}  // namespace quench
