// Normalizations of LibTorch -> BatchNormalization, LayerNormalization, GroupNormalization, InstanceNormalization.
#include <ATen/ATen.h>

#include "graph/tensor_types.h"
#include "import/aten/aten.h"
#include "quench/error.h"

namespace quench {
namespace {

// A scale or bias that the module does not have.
Value& affine(AtenCall& call, const std::string& arg, const std::vector<std::int64_t>& sizes, double fallback) {
  if (Value* given = call.tensor_or_null(arg)) return *given;
  return call.constant(at::full(sizes, fallback, scalar_type_of(call.dtype())));
}

std::int64_t channels_of(const AtenCall& call, const Value& x) {
  QUENCH_CHECK(x.rank() >= 2 && x.dims()[1].is_number(), call.where(), ": the number of channels must be fixed");
  return x.dims()[1].number();
}

// The counter beside the running statistics: training through the graph keeps counting.
void share_counter(const AtenCall& call, Node& node, const Value& running_mean) {
  const std::string& mean = running_mean.name();
  const std::size_t dot = mean.rfind("running_mean");
  if (dot == std::string::npos) return;
  const Value* counter = call.graph().find_value(mean.substr(0, dot) + "num_batches_tracked");
  if (counter && counter->is_constant()) node.attrs["quench.num_batches_tracked"] = make_tensor_attr(counter->tensor());
}

Values map_batch_norm(AtenCall& call) {
  Value& x = call.tensor(call.args.contains("input") ? "input" : "self");
  Value *mean = call.tensor_or_null("running_mean"), *variance = call.tensor_or_null("running_var");
  QUENCH_CHECK(mean && variance && !call.flag("training"), call.where(),
               ": uses batch statistics in evaluation mode (track_running_stats is off), which has no counterpart");
  const std::int64_t channels = channels_of(call, x);
  Node& node = call.make_node(
      "BatchNormalization",
      {&x, &affine(call, "weight", {channels}, 1.0), &affine(call, "bias", {channels}, 0.0), mean, variance}, 1,
      {{"epsilon", call.real("eps", 1e-5)}, {"momentum", 1.0 - call.real("momentum", 0.1)}});
  share_counter(call, node, *mean);
  return {&node.output(), nullptr, nullptr};  // the native form gives the batch's statistics, too
}

// A scale or bias of as many elements as x has channels, which may vary.
Value& affine_of_channels(AtenCall& call, const std::string& arg, Value& x, double fallback) {
  if (Value* given = call.tensor_or_null(arg)) return *given;
  return call.aux("Expand", {&call.scalar(fallback, call.dtype()), &call.shape_value({call.sizes_of(x).at(1)})});
}

// By the statistics of the batch itself. Over a batch of one it is what an instance norm decomposes into: the samples
// lie side by side as channels.
Values map_batch_norm_by_batch(AtenCall& call) {
  Value& x = call.tensor("input");
  if (!call.flag("training")) return map_batch_norm(call);
  const bool alone = x.rank() >= 2 && x.dims()[0].is_number() && x.dims()[0].number() == 1;
  QUENCH_CHECK(alone && !call.has("running_mean"), call.where(),
               ": uses batch statistics in evaluation mode, which has no counterpart");
  Value& result =
      call.make("InstanceNormalization",
                {&x, &affine_of_channels(call, "weight", x, 1.0), &affine_of_channels(call, "bias", x, 0.0)},
                {{"epsilon", call.real("eps", 1e-5)}});
  return {&result, nullptr, nullptr};
}

Values map_layer_norm(AtenCall& call) {
  Value& x = call.tensor("input");
  const std::vector<std::int64_t> shape = call.integers("normalized_shape");
  Values inputs{&x, &affine(call, "weight", shape, 1.0)};
  if (Value* bias = call.tensor_or_null("bias")) inputs.push_back(bias);
  Value& result = call.make("LayerNormalization", inputs,
                            {{"axis", -static_cast<std::int64_t>(shape.size())}, {"epsilon", call.real("eps", 1e-5)}});
  return {&result, nullptr, nullptr};
}

// Without eps LibTorch takes the type's own rounding step.
Values map_rms_norm(AtenCall& call) {
  const std::vector<std::int64_t> shape = call.integers("normalized_shape");
  const double step = call.dtype() == DType::kFloat16 ? 0x1p-10 : call.dtype() == DType::kBfloat16 ? 0x1p-7 : 0x1p-23;
  return {&call.make("RMSNormalization", {&call.tensor("input"), &affine(call, "weight", shape, 1.0)},
                     {{"axis", -static_cast<std::int64_t>(shape.size())}, {"epsilon", call.real("eps", step)}})};
}

Values map_group_norm(AtenCall& call) {
  Value& x = call.tensor("input");
  const std::int64_t channels = channels_of(call, x);
  const std::int64_t groups = call.integer(call.args.contains("group") ? "group" : "num_groups");
  Value& result = call.make("GroupNormalization",
                            {&x, &affine(call, "weight", {channels}, 1.0), &affine(call, "bias", {channels}, 0.0)},
                            {{"num_groups", groups}, {"epsilon", call.real("eps", 1e-5)}});
  return {&result, nullptr, nullptr};
}

Values map_instance_norm(AtenCall& call) {
  QUENCH_CHECK(call.flag("use_input_stats", true), call.where(),
               ": running statistics (track_running_stats) of an instance norm have no counterpart");
  Value& x = call.tensor("input");
  const std::int64_t channels = channels_of(call, x);
  return {&call.make("InstanceNormalization",
                     {&x, &affine(call, "weight", {channels}, 1.0), &affine(call, "bias", {channels}, 0.0)},
                     {{"epsilon", call.real("eps", 1e-5)}})};
}

// g * v / |v|, the length taken over all axes but one.
Values map_weight_norm(AtenCall& call) {
  Value& v = call.tensor("v");
  const int axis = call.axis("dim", v.rank(), 0);
  std::vector<std::int64_t> others;
  for (int i = 0; i < v.rank(); ++i)
    if (i != axis) others.push_back(i);
  Value& length = call.aux("ReduceL2", {&v, &call.integers_constant(others)}, {{"keepdims", std::int64_t{1}}});
  Value& factor = call.aux("Div", {&call.tensor("g"), &length});
  Value& weight = call.make("Mul", {&v, &factor});
  return {&weight, nullptr};
}

}  // namespace

QUENCH_REGISTER_ATEN_LAYER("batch_norm", map_batch_norm, "BatchNormalization")
QUENCH_REGISTER_ATEN_LAYER("_native_batch_norm_legit_no_training", map_batch_norm, "BatchNormalization")
QUENCH_REGISTER_ATEN_LAYER("_native_batch_norm_legit", map_batch_norm_by_batch,
                           "BatchNormalization, InstanceNormalization")
QUENCH_REGISTER_ATEN("_weight_norm", map_weight_norm, "ReduceL2, Div, Mul")
QUENCH_REGISTER_ATEN("_weight_norm_interface", map_weight_norm, "ReduceL2, Div, Mul")
QUENCH_REGISTER_ATEN_LAYER("layer_norm", map_layer_norm, "LayerNormalization")
QUENCH_REGISTER_ATEN_LAYER("native_layer_norm", map_layer_norm, "LayerNormalization")
QUENCH_REGISTER_ATEN_LAYER("native_group_norm", map_group_norm, "GroupNormalization")
QUENCH_REGISTER_ATEN_LAYER("rms_norm", map_rms_norm, "RMSNormalization")
QUENCH_REGISTER_ATEN_LAYER("group_norm", map_group_norm, "GroupNormalization")
QUENCH_REGISTER_ATEN_LAYER("instance_norm", map_instance_norm, "InstanceNormalization")

}  // namespace quench
