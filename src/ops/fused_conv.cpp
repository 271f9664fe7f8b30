// quench.FusedConv: a 2-D float convolution with its residual Add and its activation as one oneDNN call,
// on a weight packed once. Inference on the CPU only; made by the pass fuse_cpu_kernels.
//   inputs X, W, B?, residual?     y = act(conv(X, W) + B + residual)
//   attributes: those of Conv, and activation (none, relu, hardtanh, leaky_relu, hardswish), scalars
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

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
  const Geometry geometry(node);
  using Pack = at::Tensor(const at::Tensor&, at::IntArrayRef, at::IntArrayRef, at::IntArrayRef, std::int64_t,
                          at::OptionalIntArrayRef);
  static const auto pack = find_op("mkldnn::_reorder_convolution_weight", "").typed<Pack>();
  const at::Tensor weight = in[1].tensor().detach().contiguous();
  Inputs prepared(in.size());
  prepared[1] = RtValue(
      pack.call(weight, geometry.padding, geometry.stride, geometry.dilation, geometry.group, in[0].tensor().sizes()),
      in[1].dtype());
  return prepared;
}

std::vector<RtValue> fused_conv(const Node& node, const Inputs& in, ExecContext&) {
  const Geometry g(node);
  const at::Tensor x = in[0].tensor().contiguous(at::MemoryFormat::ChannelsLast);
  const OptionalTensor bias = in.size() > 2 && !in[2].is_none() ? OptionalTensor(in[2].tensor()) : std::nullopt;
  const std::string activation = node.get_string("activation", "none");
  if (in.size() < 4 || in[3].is_none()) {
    using Conv =
        at::Tensor(const at::Tensor&, const at::Tensor&, const OptionalTensor&, at::IntArrayRef, at::IntArrayRef,
                   at::IntArrayRef, std::int64_t, std::string_view, Scalars, std::optional<std::string_view>);
    static const auto conv = find_op("mkldnn::_convolution_pointwise", "").typed<Conv>();
    return {
        conv.call(x, in[1].tensor(), bias, g.padding, g.stride, g.dilation, g.group, activation, scalars_of(node), "")};
  }
  using ConvAdd =
      at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const OptionalTensor&, at::IntArrayRef,
                 at::IntArrayRef, at::IntArrayRef, std::int64_t, std::string_view, std::optional<at::Scalar>,
                 std::optional<std::string_view>, Scalars, std::optional<std::string_view>);
  static const auto conv_add = find_op("mkldnn::_convolution_pointwise", "binary").typed<ConvAdd>();
  const at::Tensor residual = in[3].tensor().contiguous(at::MemoryFormat::ChannelsLast);
  const std::optional<std::string_view> unary =
      activation == "none" ? std::nullopt : std::optional<std::string_view>(activation);
  return {conv_add.call(x, residual, in[1].tensor(), bias, g.padding, g.stride, g.dilation, g.group, "add",
                        at::Scalar(1.0), unary, scalars_of(node), "")};
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

QUENCH_REGISTER_ITEM(::quench::OpEntry, "quench.FusedConv", "Conv, residual Add and activation in one CPU kernel",
                     {fused_conv, fused_conv_shape, fused_conv_traits(), pack_weight})

}  // namespace quench
