// ncnn_table: the float model and ncnn's calibration table, which its ncnn2int8 reads: a line
// "<layer>_param_0 s s s ..." a layer with the scales of its weights, then a line "<layer> s" each with that of its
// input. ncnn multiplies by its scales: they are 1/s. Layers are called as onnx2ncnn calls them, after the nodes.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include "deploy/lowest_opset.h"
#include "deploy/strip.h"
#include "quench/deploy.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

constexpr std::int64_t kFirstOpset = 11;
constexpr std::size_t kLongestKey = 255;  // ncnn2int8 reads no more

struct TableLine {
  std::string layer;
  std::vector<float> weights;  // one a channel (or a group of a grouped convolution)
  float input = 0.0F;
};

// ncnn's: what x is multiplied by; float32, as it computes.
float multiplier(float scale) { return 1.0F / scale; }

// The scales of the weights: one an output channel; a grouped convolution has one a group.
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

// Null where the node is no quantized layer.
const StrippedTensor* weight_of(const StrippedModel& model, const Node& node) {
  const Value* weight = node.input(1);
  const StrippedTensor* found = weight && weight->is_constant() ? model.find(weight->name()) : nullptr;
  return found && found->role == Role::kWeight ? found : nullptr;
}

void check_key(const Node& node, const std::string& key) {
  QUENCH_CHECK(key.find_first_of(" \t\r\n") == std::string::npos, node.where(), ": ncnn's table holds no spaces");
  QUENCH_CHECK(key.size() <= kLongestKey, node.where(), ": ncnn's table holds names of ", kLongestKey,
               " characters at most");
  QUENCH_CHECK(node.name().find("_param_") == std::string::npos, node.where(),
               ": ncnn takes a name with '_param_' for a weight's");
}

std::vector<TableLine> lines_of(const StrippedModel& model) {
  std::vector<TableLine> lines;
  for (const auto& node : model.graph.nodes()) {
    const StrippedTensor* weight = weight_of(model, *node);
    if (!weight) continue;
    const StrippedTensor* input = model.find(node->input(0)->name());
    QUENCH_CHECK(input, node->where(), ": its weight is quantized, its input is not, which ncnn has no form for");
    check_key(*node, node->name() + "_param_0");
    lines.push_back({node->name(), weight_scales(*node, *weight), multiplier(input->type.params.scale[0])});
  }
  return lines;
}

// Nine digits give a float32 back to the bit. ncnn's own table has a space behind every number.
std::string table_of(const std::vector<TableLine>& lines) {
  std::string text;
  for (const TableLine& line : lines) {
    text += line.layer + "_param_0 ";
    for (const float scale : line.weights) text += fmt::format("{:.9g} ", scale);
    text += "\n";
  }
  for (const TableLine& line : lines) text += fmt::format("{} {:.9g} \n", line.layer, line.input);
  return text;
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
  StrippedModel model = strip_quantizers(job.graph);
  DeployFile table;
  table.name = job.name + ".table";
  table.what = "ncnn's calibration table: layers under the names that onnx2ncnn gives them";
  table.text = table_of(lines_of(model));
  bool winograd = false;
  for (const auto& node : model.graph.nodes()) winograd = winograd || (weight_of(model, *node) && is_winograd(*node));
  DeployFile file;
  file.name = job.name + "_deploy_model.onnx";
  file.opset = lowest_opset(model.graph, kFirstOpset, job.opset);
  file.what = concat("float, weights on their grids, opset ", file.opset);
  file.model = std::move(model.graph);
  deployment.files.push_back(std::move(file));
  deployment.files.push_back(std::move(table));
  deployment.notes.push_back(
      "the table names layers after the nodes of the model, as onnx2ncnn does; pnnx numbers them (conv_0, ...): "
      "rename");
  if (winograd)
    deployment.notes.push_back(
        "ncnn's int8 Winograd kernels (3x3, stride 1) are made for 6-bit weights: run with use_winograd_convolution "
        "off");
}

}  // namespace

QUENCH_REGISTER_EXPORTER("ncnn_table", write_ncnn,
                         "the float model and ncnn's text table of scales: N_deploy_model.onnx, N.table")

}  // namespace quench
