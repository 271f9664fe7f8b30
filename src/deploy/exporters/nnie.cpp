// nnie: for each layer the greatest magnitudes of its inputs, for HiSilicon's mapper; docs/platforms.md 5.3. The model
// is written in opset 9, where Resize is still called Upsample.
#include <set>
#include <stdexcept>

#include "deploy/file_endings.h"
#include "deploy/forms/side_file.h"
#include "deploy/onnx/lower.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::int64_t kFirstOpset = 9;

bool is_left_out(const Node& node) {
  static const std::set<std::string> ops = {"Flatten", "Relu",         "PRelu", "Sigmoid",           "Reshape",
                                            "Softmax", "CaffeSoftmax", "Clip",  "GlobalAveragePool", "Mul"};
  return ops.contains(node.op()) || (node.op() == "Conv" && node.get_int("group", 1) != 1);
}

std::vector<double> clip_values(const StrippedModel& model, const Node& node) {
  std::vector<double> values;
  for (const Value* input : node.inputs()) {
    const StrippedTensor* tensor = input && !input->is_constant() ? model.find(input->name()) : nullptr;
    if (tensor) values.push_back(tensor->type.params.scale.at(0));
  }
  return values;
}

// The mapper puts a Permute after an Upsample: "<name>_permute_<i>" has the same value.
Json layers_of(const StrippedModel& model, const Graph& written) {
  Json layers = Json::object();
  int permutes = 0;
  for (const auto& node : model.graph.nodes()) {
    const std::vector<double> values = is_left_out(*node) ? std::vector<double>() : clip_values(model, *node);
    if (values.empty()) continue;
    if (!written.find_node(node->name()))
      throw std::logic_error(
          concat("the file of clip values mentions a layer '", node->name(), "' that does not exist"));
    layers[node->name()] = values;
    if (node->op() != "Resize") continue;
    const std::string name = concat(node->name(), "_permute_", permutes++);
    QUENCH_CHECK(!model.graph.find_node(name), node->where(), ": there is a layer '", name,
                 "', a name that the mapper itself uses: rename it");
    layers[name] = values;
  }
  return layers;
}

bool has_resize(const Graph& graph) {
  for (const auto& node : graph.nodes())
    if (node->op() == "Resize") return true;
  return false;
}

DeployFile upsample_file(const DeployJob& job, const Graph& model) {
  if (!has_resize(model)) return model_file(job, kStrippedEnding, model, kFirstOpset);
  QUENCH_CHECK(job.opset == 0 || job.opset == kFirstOpset, "NNIE's mapper reads Upsample, which ended with opset ",
               kFirstOpset, ": opset ", job.opset, " has none");
  DeployJob in_nine = job;
  in_nine.opset = kFirstOpset;
  return model_file(in_nine, kStrippedEnding, model, kFirstOpset);
}

Graph as_written(const DeployFile& file) {
  Graph graph(file.model);
  lower_graph(graph, file.opset);
  return graph;
}

void write_nnie(const DeployJob& job, Deployment& deployment) {
  StrippedModel model = strip_quantizers(job.graph);
  for (const StrippedTensor& tensor : model.tensors)
    QUENCH_CHECK(tensor.type.scheme.format() == Format::kLog, "'", tensor.name, "' is quantized as '",
                 tensor.type.scheme.text(), "'; NNIE has logarithmic codes: quantize for platform 'nnie'");
  deployment.files.push_back(upsample_file(job, model.graph));
  Json content;
  content["nnie"]["gfpq_param_dict"] = layers_of(model, as_written(deployment.files.back()));
  deployment.files.push_back(
      json_file(job, "_gfpq_param_dict.json", content, "greatest magnitudes of each layer's inputs"));
}

}  // namespace

QUENCH_REGISTER_EXPORTER("nnie", write_nnie, "clip values of layers for NNIE: N_gfpq_param_dict.json", {},
                         IoTypes::kFloat32)

}  // namespace quench
