// Functions that turn a row into a distribution.
#include <ATen/ATen.h>

#include "ops/arguments.h"
#include "ops/shape_rules.h"

namespace quench {
namespace {

std::vector<RtValue> softmax(const Node& node, const Inputs& in, ExecContext&) {
  return {at::softmax(in[0].tensor(), node.get_int("axis", -1))};
}

std::vector<RtValue> log_softmax(const Node& node, const Inputs& in, ExecContext&) {
  return {at::log_softmax(in[0].tensor(), node.get_int("axis", -1))};
}

// One at the first largest element, zero elsewhere.
std::vector<RtValue> hardmax(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const std::int64_t axis = node.get_int("axis", -1);
  return {at::zeros_like(x).scatter(axis, x.argmax(axis, /*keepdim=*/true), 1)};
}

OpTraits distribution() {
  OpTraits traits;
  traits.range = RangeRule::kFixed;
  traits.fixed_max = 1.0;
  traits.non_negative = true;
  traits.channel_axis = -1;
  return traits;
}

OpTraits log_traits() {
  OpTraits traits;
  traits.channel_axis = -1;
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("Softmax", softmax, same_as_input, distribution(), "exp(x) / sum(exp(x)) along an axis")
QUENCH_REGISTER_OP("LogSoftmax", log_softmax, same_as_input, log_traits(), "log of Softmax")
QUENCH_REGISTER_OP("Hardmax", hardmax, same_as_input, distribution(), "one at the largest element of an axis")

}  // namespace quench
