// ncnn_table: the float model and ncnn's calibration table, which its ncnn2int8 reads: per layer a line
// "<layer>_param_0 s s s ..." with the scales of its weights, then per layer a line "<layer> s" with that of its
// input. ncnn multiplies by its scales: they are 1/s. Layers are called as onnx2ncnn calls them, after the nodes.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "deploy/file_endings.h"
#include "deploy/forms/side_file.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

constexpr std::size_t kLongestKey = 255;  // ncnn2int8 reads no more

// ncnn's: what x is multiplied by; float32, as it computes.
float multiplier(float scale) { return 1.0F / scale; }

// The scales of the weights: one per output channel; a grouped convolution has one per group.
std::vector<float> weight_scales(const Node& node, const StrippedTensor& weight) {
  const at::Tensor& tensor = node.input(1)->tensor();
  const int axis = entry_of(node).traits.weight_axis(node);
  const std::int64_t channels = tensor.size(axis), groups = node.get_int("group", 1);
  const std::int64_t entries = groups > 1 ? groups : channels, step = channels / entries;
  const std::vector<float>& scale = weight.type.params.scale;
  std::vector<float> result;
  for (std::int64_t i = 0; i < entries; ++i) {
    const float first = scale[weight.type.scheme.per_tensor() ? 0 : static_cast<std::size_t>(i * step)];
    for (std::int64_t c = 1; c < step && !weight.type.scheme.per_tensor(); ++c)
      QUENCH_CHECK(scale[static_cast<std::size_t>(i * step + c)] == first, node.where(),
                   ": ncnn has one scale for all channels of a group; quantize its weight per tensor");
    result.push_back(multiplier(first));
  }
  return result;
}

// Null if the node is not a quantized layer.
const StrippedTensor* weight_of(const StrippedModel& model, const Node& node) {
  const Value* weight = node.input(1);
  const StrippedTensor* found = weight && weight->is_constant() ? model.find(weight->name()) : nullptr;
  return found && found->role == Role::kWeight ? found : nullptr;
}

void check_key(const Node& node, const std::string& key) {
  QUENCH_CHECK(key.size() <= kLongestKey, node.where(), ": ncnn's table holds names of ", kLongestKey,
               " characters at most");
  QUENCH_CHECK(node.name().find("_param_") == std::string::npos, node.where(),
               ": ncnn takes a name with '_param_' for a weight's");
}

// Nine digits give a float32 back to the bit. ncnn's own table has a space after every number.
std::string numbers_text(const std::vector<float>& numbers) {
  std::string text;
  for (const float number : numbers) text += fmt::format("{:.9g} ", number);
  return text;
}

std::vector<TextLine> lines_of(const StrippedModel& model) {
  std::vector<TextLine> weights, inputs;
  for (const auto& node : model.graph.nodes()) {
    const StrippedTensor* weight = weight_of(model, *node);
    if (!weight) continue;
    const StrippedTensor* input = model.find(node->input(0)->name());
    QUENCH_CHECK(input, node->where(), ": its weight is quantized but its input is not, which ncnn cannot represent");
    const std::string key = node->name() + "_param_0";
    check_key(*node, key);
    weights.emplace_back(key, numbers_text(weight_scales(*node, *weight)));
    inputs.emplace_back(node->name(), numbers_text({multiplier(input->type.params.scale[0])}));
  }
  weights.insert(weights.end(), inputs.begin(), inputs.end());
  return weights;
}

// A 3x3 convolution with stride 1, which ncnn may compute by Winograd's transform.
bool is_winograd(const Node& node) {
  const auto all = [&](const char* attr, std::int64_t wanted) {
    const std::vector<std::int64_t> values = node.get_ints(attr, {});
    return std::all_of(values.begin(), values.end(), [&](std::int64_t value) { return value == wanted; });
  };
  return node.op() == "Conv" && node.get_int("group", 1) == 1 && node.input(1)->rank() == 4 &&
         node.input(1)->tensor().size(2) == 3 && node.input(1)->tensor().size(3) == 3 && all("strides", 1) &&
         all("dilations", 1);
}

void write_ncnn(const DeployJob& job, Deployment& deployment) {
  const StrippedModel model = strip_quantizers(job.graph);
  deployment.files.push_back(model_file(job, kStrippedEnding, model.graph));
  deployment.files.push_back(text_file(job, ".table", lines_of(model), " ",
                                       "ncnn's calibration table: layers under the names that onnx2ncnn gives them"));
  deployment.notes.push_back(
      "the table names layers after the nodes of the model, as onnx2ncnn does; pnnx numbers them (conv_0, ...): "
      "rename");
  const bool winograd = std::any_of(model.graph.nodes().begin(), model.graph.nodes().end(),
                                    [&](const auto& node) { return weight_of(model, *node) && is_winograd(*node); });
  if (winograd)
    deployment.notes.push_back(
        "ncnn's int8 Winograd kernels (3x3, stride 1) are made for 6-bit weights: run with use_winograd_convolution "
        "off");
}

}  // namespace

QUENCH_REGISTER_EXPORTER("ncnn_table", write_ncnn,
                         "the float model and ncnn's text table of scales: N_deploy_model.onnx, N.table", {},
                         IoTypes::kFloat32)

}  // namespace quench
