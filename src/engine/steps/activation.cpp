#include "engine/steps/activation.h"

#include "engine/builder.h"
#include "ops/clamp.h"

namespace quench {
namespace {

bool build_activation(Builder& builder, const Node& node) {
  const std::optional<Eltwise> function = eltwise_of(node);
  const int x = builder.input(*node.input(0));
  if (!function || x < 0 || !builder.float_kernels()) return false;
  const DnnlLayout& layout = builder.layout(x);
  if (layout.get_data_type() != dnnl::memory::data_type::f32) return false;
  const dnnl::eltwise_forward::primitive_desc description(onednn_cpu(), dnnl::prop_kind::forward_inference,
                                                          function->algorithm, layout, layout, function->alpha,
                                                          function->beta, attributes_with());
  const int y = builder.add_slot(layout);
  add_primitive(builder, node, description, dnnl::eltwise_forward(description), {{{DNNL_ARG_SRC, x}}, y, {}});
  builder.define(node.output(), y);
  return true;
}

}  // namespace

std::optional<Eltwise> eltwise_of(const Node& node) {
  using dnnl::algorithm;
  const std::string& op = node.op();
  if (op == "Relu") return Eltwise{algorithm::eltwise_relu};
  if (op == "LeakyRelu") return Eltwise{algorithm::eltwise_relu, static_cast<float>(node.get_float("alpha", 0.01))};
  if (op == "Sigmoid") return Eltwise{algorithm::eltwise_logistic};
  if (op == "Tanh") return Eltwise{algorithm::eltwise_tanh};
  if (op == "Elu") return Eltwise{algorithm::eltwise_elu, static_cast<float>(node.get_float("alpha", 1.0))};
  if (op == "HardSwish") return Eltwise{algorithm::eltwise_hardswish, 1.0F / 6.0F, 0.5F};
  if (op == "HardSigmoid")
    return Eltwise{algorithm::eltwise_hardsigmoid, static_cast<float>(node.get_float("alpha", 0.2)),
                   static_cast<float>(node.get_float("beta", 0.5))};
  if (op == "Gelu")
    return Eltwise{node.get_string("approximate", "none") == "tanh" ? algorithm::eltwise_gelu_tanh
                                                                    : algorithm::eltwise_gelu_erf};
  if (op == "Clip") {
    const Clamp clamp = clamp_of(node);
    if (!clamp.known) return std::nullopt;
    return Eltwise{algorithm::eltwise_clip, static_cast<float>(clamp.low), static_cast<float>(clamp.high)};
  }
  return std::nullopt;
}

bool is_worth_fusing(const Node& node) {
  return node.op() == "Relu" || node.op() == "LeakyRelu" || node.op() == "HardSwish" ||
         (node.op() == "Clip" && eltwise_of(node));
}

}  // namespace quench

using quench::build_activation;
QUENCH_REGISTER_ENGINE_OP("Relu", build_activation)
QUENCH_REGISTER_ENGINE_OP("LeakyRelu", build_activation)
QUENCH_REGISTER_ENGINE_OP("Sigmoid", build_activation)
QUENCH_REGISTER_ENGINE_OP("Tanh", build_activation)
QUENCH_REGISTER_ENGINE_OP("Elu", build_activation)
QUENCH_REGISTER_ENGINE_OP("HardSwish", build_activation)
QUENCH_REGISTER_ENGINE_OP("HardSigmoid", build_activation)
QUENCH_REGISTER_ENGINE_OP("Gelu", build_activation)
QUENCH_REGISTER_ENGINE_OP("Clip", build_activation)
