// vitis: scales for AMD's DPU, all powers of two, with what its converter makes of them: fix points and the factors of
// average pools; docs/platforms.md 5.9, docs/numerics.md 12.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "deploy/file_endings.h"
#include "deploy/forms/side_file.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

// floor(log2(1 / s)), exactly: the scale is a power of two.
int fix_point_of(double scale) { return -std::ilogb(scale); }

Json entry_of(double scale) {
  Json entry;
  entry["scale"] = scale;
  entry["fix_point"] = fix_point_of(scale);
  return entry;
}

void check_tensor(const StrippedTensor& tensor) {
  check_per_tensor(tensor, "the DPU");
  check_symmetric(tensor, "the DPU");
  QUENCH_CHECK(tensor.type.scheme.is_int(), "'", tensor.name, "' is quantized as '", tensor.type.scheme.text(),
               "'; the DPU computes with integers");
  int exponent = 0;
  QUENCH_CHECK(std::frexp(tensor.type.params.scale[0], &exponent) == 0.5F, "the scale of '", tensor.name, "' is ",
               tensor.type.params.scale[0], "; the DPU takes powers of two");
}

// The windows for which the DPU multiplies the sum by a rounded reciprocal, and what that makes of the mean.
double pool_factor(const std::vector<std::int64_t>& window) {
  using Window = std::pair<std::int64_t, std::int64_t>;
  static const std::map<Window, double> factors = {
      {{3, 3}, 9.0 * 7 / 64},   {{5, 5}, 25.0 * 10 / 256},  {{6, 6}, 36.0 * 7 / 256},     {{3, 6}, 36.0 * 7 / 256},
      {{6, 3}, 36.0 * 7 / 256}, {{7, 7}, 49.0 * 21 / 1024}, {{14, 14}, 196.0 * 21 / 4096}};
  if (window.size() != 2) return 1.0;
  const auto found = factors.find({window[0], window[1]});
  return found == factors.end() ? 1.0 : found->second;
}

// Of an average pool over two dims; empty for other nodes, and where the dims of a global one are not known.
std::vector<std::int64_t> window_of(const Node& node) {
  if (node.op() == "AveragePool") return node.require_ints("kernel_shape");
  if (node.op() != "GlobalAveragePool" || !node.input(0)->has_rank()) return {};
  std::vector<std::int64_t> window;
  for (int axis = 2; axis < node.input(0)->rank(); ++axis) {
    const Dim& dim = node.input(0)->dims()[static_cast<std::size_t>(axis)];
    if (!dim.is_number()) return {};
    window.push_back(dim.number());
  }
  return window;
}

void add_pool_factors(const Graph& graph, Json& entries) {
  for (const auto& node : graph.nodes())
    if (const double factor = pool_factor(window_of(*node)); factor != 1.0 && entries.contains(node->output().name()))
      entries[node->output().name()]["pool_factor"] = factor;
}

// The largest fix point at which the greatest magnitude still has a code: what the converter does with a bias that
// nothing quantized. Its values stay float here.
double scale_of_bias(const Value& bias) {
  const double largest = bias.tensor().abs().max().item<double>();
  return largest > 0 ? std::exp2(std::ceil(std::log2(largest / 127.0))) : 1.0;
}

void add_float_biases(const StrippedModel& model, Json& entries, Deployment& deployment) {
  int found = 0;
  for (const auto& node : model.graph.nodes()) {
    const OpTraits& traits = ::quench::entry_of(*node).traits;
    const Value* weight = traits.weight_slot > 0 ? node->input(traits.weight_slot) : nullptr;
    const Value* bias = traits.bias_slot > 0 ? node->input(traits.bias_slot) : nullptr;
    if (!weight || !model.find(weight->name()) || !bias || !bias->is_constant() || model.find(bias->name())) continue;
    entries[bias->name()] = entry_of(scale_of_bias(*bias));
    ++found;
  }
  if (found > 0)
    deployment.notes.push_back(
        concat("biases that are not quantized in the model: ", found, "; their fix points follow from their values"));
}

void write_vitis(const DeployJob& job, Deployment& deployment) {
  StrippedModel model = strip_quantizers(job.graph);
  for (const StrippedTensor& tensor : model.tensors) check_tensor(tensor);
  pass_ranges_back(model);
  Json entries = Json::object();
  for (const StrippedTensor& tensor : model.tensors) entries[tensor.name] = entry_of(tensor.type.params.scale[0]);
  add_float_biases(model, entries, deployment);
  add_pool_factors(model.graph, entries);
  check_tensors(model.graph, entries);
  Json content;
  content["vitis"] = std::move(entries);
  deployment.files.push_back(model_file(job, kStrippedEnding, model.graph));
  deployment.files.push_back(json_file(job, "_clip_ranges.json", content, "scale and fix point of each tensor"));
  deployment.files[0].use = FileUse::kShip;  // AMD's compiler reads it too
  deployment.notes.push_back(concat("in AMD's container: python convert_xir.py -Q ", job.name, "_quantizers.onnx -C ",
                                    job.name, "_deploy_model.onnx -N ", job.name, " makes ", job.name, "_int.xmodel"));
}

}  // namespace

QUENCH_REGISTER_EXPORTER("vitis", write_vitis, "scales and fix points for AMD's DPU: N_clip_ranges.json", {},
                         IoTypes::kFloat32)

}  // namespace quench
