// quench.FusedConv: a 2-D float convolution with its residual Add and its activation: on the CPU one oneDNN call on a
// weight packed once, on a GPU one cuDNN call where that has the activation, else a call and one more pass. Inference
// only; made by the pass fuse_conv_kernels.
//   inputs X, W, B?, residual?     y = act(conv(X, W) + B + residual)
//   attributes: those of Conv, and activation (none, relu, hardtanh, leaky_relu, hardswish), scalars
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "kernels/finish_conv.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

using OptionalTensor = std::optional<at::Tensor>;
using Scalars = c10::List<std::optional<at::Scalar>>;

struct Geometry {
  explicit Geometry(const Node& node)
      : padding(node.get_ints("pads", {0, 0, 0, 0})),
        stride(node.get_ints("strides", {1, 1})),
        dilation(node.get_ints("dilations", {1, 1})),
        group(node.get_int("group", 1)) {
    padding.resize(2);  // the pass takes symmetric pads only
  }
  std::vector<std::int64_t> padding, stride, dilation;
  std::int64_t group;
};

const c10::OperatorHandle& find_op(const char* name, const char* overload) {
  static std::map<std::string, c10::OperatorHandle> found;
  const std::string key = concat(name, ".", overload);
  auto at = found.find(key);
  if (at == found.end()) at = found.emplace(key, c10::Dispatcher::singleton().findSchemaOrThrow(name, overload)).first;
  return at->second;
}

Scalars scalars_of(const Node& node) {
  Scalars scalars;
  for (double scalar : node.get_floats("scalars", {})) scalars.push_back(at::Scalar(scalar));
  return scalars;
}

Inputs pack_weight(const Node& node, const Inputs& in) {
  Inputs prepared(in.size());
  if (in[0].tensor().is_cuda()) {
    prepared[1] = RtValue(in[1].tensor().detach().contiguous(at::MemoryFormat::ChannelsLast), in[1].dtype());
    return prepared;
  }
  const Geometry geometry(node);
  using Pack = at::Tensor(const at::Tensor&, at::IntArrayRef, at::IntArrayRef, at::IntArrayRef, std::int64_t,
                          at::OptionalIntArrayRef);
  static const auto pack = find_op("mkldnn::_reorder_convolution_weight", "").typed<Pack>();
  const at::Tensor weight = in[1].tensor().detach().contiguous();
  prepared[1] = RtValue(
      pack.call(weight, geometry.padding, geometry.stride, geometry.dilation, geometry.group, in[0].tensor().sizes()),
      in[1].dtype());
  return prepared;
}

struct Arguments {
  Arguments(const Node& node, const Inputs& in)
      : geometry(node),
        x(in[0].tensor().contiguous(at::MemoryFormat::ChannelsLast)),
        weight(in[1].tensor()),
        activation(node.get_string("activation", "none")) {
    if (in.size() > 2 && !in[2].is_none()) bias = in[2].tensor();
    if (in.size() > 3 && !in[3].is_none()) residual = in[3].tensor().contiguous(at::MemoryFormat::ChannelsLast);
  }
  Geometry geometry;
  at::Tensor x, weight;
  OptionalTensor bias, residual;
  std::string activation;
};

// cuDNN has one kernel for a Relu; grouped convolutions are faster without it.
bool has_cudnn_kernel(const Arguments& a) { return a.activation == "relu" && a.geometry.group == 1; }

at::Tensor on_cudnn(const Arguments& a) {
  const Geometry& g = a.geometry;
  if (a.residual)
    return at::cudnn_convolution_add_relu(a.x, a.weight, *a.residual, 1.0, a.bias, g.stride, g.padding, g.dilation,
                                          g.group);
  return at::cudnn_convolution_relu(a.x, a.weight, a.bias, g.stride, g.padding, g.dilation, g.group);
}

at::Tensor on_cuda(const Node& node, const Arguments& a) {
  if (has_cudnn_kernel(a) && at::globalContext().userEnabledCuDNN()) return on_cudnn(a);
  const Geometry& g = a.geometry;
  at::Tensor y = at::convolution(a.x, a.weight, {}, g.stride, g.padding, g.dilation, false, {0, 0}, g.group);
  const std::vector<double> scalars = node.get_floats("scalars", {});
  const at::Tensor bias = a.bias.value_or(at::Tensor()), residual = a.residual.value_or(at::Tensor());
  ConvFinish finish{bias, residual};
  if (a.activation == "relu") finish.low = 0.0F;
  if (a.activation == "hardtanh") {
    finish.low = static_cast<float>(scalars.at(0));
    finish.high = static_cast<float>(scalars.at(1));
  }
  finish_conv(y, finish);
  if (a.activation == "leaky_relu") return at::leaky_relu_(y, scalars.at(0));
  return a.activation == "hardswish" ? at::hardswish_(y) : y;
}

at::Tensor on_cpu(const Node& node, const Arguments& a) {
  const Geometry& g = a.geometry;
  if (!a.residual) {
    using Conv =
        at::Tensor(const at::Tensor&, const at::Tensor&, const OptionalTensor&, at::IntArrayRef, at::IntArrayRef,
                   at::IntArrayRef, std::int64_t, std::string_view, Scalars, std::optional<std::string_view>);
    static const auto conv = find_op("mkldnn::_convolution_pointwise", "").typed<Conv>();
    return conv.call(a.x, a.weight, a.bias, g.padding, g.stride, g.dilation, g.group, a.activation, scalars_of(node),
                     "");
  }
  using ConvAdd =
      at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const OptionalTensor&, at::IntArrayRef,
                 at::IntArrayRef, at::IntArrayRef, std::int64_t, std::string_view, std::optional<at::Scalar>,
                 std::optional<std::string_view>, Scalars, std::optional<std::string_view>);
  static const auto conv_add = find_op("mkldnn::_convolution_pointwise", "binary").typed<ConvAdd>();
  const std::optional<std::string_view> unary =
      a.activation == "none" ? std::nullopt : std::optional<std::string_view>(a.activation);
  return conv_add.call(a.x, *a.residual, a.weight, a.bias, g.padding, g.stride, g.dilation, g.group, "add",
                       at::Scalar(1.0), unary, scalars_of(node), "");
}

std::vector<RtValue> fused_conv(const Node& node, const Inputs& in, ExecContext&) {
  const Arguments arguments(node, in);
  return {arguments.x.is_cuda() ? on_cuda(node, arguments) : on_cpu(node, arguments)};
}

void fused_conv_shape(Node& node) { OpRegistry::instance().get("Conv").shapes(node); }

int first_axis(const Node&) { return 0; }

OpTraits fused_conv_traits() {
  OpTraits traits;
  traits.weight_slot = 1;
  traits.weight_axis = first_axis;
  traits.bias_slot = 2;
  return traits;
}

}  // namespace

QUENCH_REGISTER_ITEM(::quench::OpEntry, "quench.FusedConv", "Conv, residual Add and activation in one kernel",
                     {fused_conv, fused_conv_shape, fused_conv_traits(), pack_weight})

}  // namespace quench
