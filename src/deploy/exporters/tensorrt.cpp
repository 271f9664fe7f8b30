// tensorrt: ranges for TensorRT's implicit quantization, which ended with version 10; docs/platforms.md 5.2. With
// deploy_to_qlinear also the pairs that explicit quantization reads, 5.6.
#include <algorithm>

#include "core/counted.h"
#include "deploy/file_endings.h"
#include "deploy/forms/qdq_graph.h"
#include "deploy/forms/side_file.h"
#include "deploy/onnx/lowest_opset.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr const char* kTarget = "TensorRT";

// s * max(-n, p): docs/numerics.md 12.
double range_of(const StrippedTensor& tensor) {
  check_per_tensor(tensor, kTarget);
  check_symmetric(tensor, kTarget);
  const Ends ends = ends_of(tensor.type);
  return std::max(-ends.min, ends.max);
}

// The file of ranges says nothing of weights: TensorRT finds their scales itself, for codes from -127 to 127.
void note_own_scales(const StrippedModel& model, Deployment& deployment) {
  const auto others = std::count_if(model.tensors.begin(), model.tensors.end(), [](const StrippedTensor& tensor) {
    const QScheme& scheme = tensor.type.scheme;
    return tensor.role == Role::kWeight && !(scheme.symmetric() && scheme.narrow() && scheme.bits() == 8);
  });
  if (others == 0) return;
  deployment.notes.push_back(concat(
      "TensorRT finds the scales of weights itself, for 8 bits from -127 to 127: codes of ", counted(others, "weight"),
      " may differ from the simulation's; 'defaults.weight.narrow=true' with 8 bits makes them equal"));
}

void check_qlinear(const StrippedTensor& tensor) {
  check_symmetric(tensor, kTarget);
  QUENCH_CHECK(tensor.type.scheme.bits() == 8, "'", tensor.name, "' has ", tensor.type.scheme.bits(),
               " bits; deploy_to_qlinear takes 8");
}

void add_qlinear(const DeployJob& job, const StrippedModel& model, Deployment& deployment) {
  for (const StrippedTensor& tensor : model.tensors) check_qlinear(tensor);
  DeployFile file;
  file.name = "onnx_quantized_model.onnx";
  file.model = qdq_graph(job.graph, {.names = QdqStyle::Names::kQuantizer, .clip_lowest = false});
  file.opset = lowest_opset(file.model, kFirstQdqOpset, job.opset);
  file.what = concat("QuantizeLinear and DequantizeLinear, opset ", file.opset);
  file.use = FileUse::kInstead;
  deployment.files.push_back(std::move(file));
  const bool narrow = std::any_of(model.tensors.begin(), model.tensors.end(), [](const StrippedTensor& tensor) {
    return tensor.role == Role::kActivation && tensor.type.scheme.narrow();
  });
  if (narrow)
    deployment.notes.push_back(
        concat(deployment.files.back().name,
               ": weights keep to -127..127, but an activation may reach the code -128, one code from the simulation"));
}

void write_tensorrt(const DeployJob& job, Deployment& deployment) {
  StrippedModel model = strip_quantizers(job.graph);
  pass_ranges_back(model);
  Json ranges = Json::object();
  for (const StrippedTensor& tensor : model.tensors)
    if (tensor.role == Role::kActivation) ranges[tensor.name] = range_of(tensor);
  check_tensors(model.graph, ranges);
  Json content;
  content["tensorrt"]["blob_range"] = std::move(ranges);
  deployment.files.push_back(model_file(job, kStrippedEnding, model.graph));
  deployment.files.push_back(json_file(job, "_clip_ranges.json", content, "the range of each activation"));
  note_own_scales(model, deployment);
  if (job.options.flag("deploy_to_qlinear")) add_qlinear(job, model, deployment);
}

}  // namespace

QUENCH_REGISTER_EXPORTER("tensorrt", write_tensorrt, "ranges for TensorRT before 10: N_clip_ranges.json",
                         {{"deploy_to_qlinear", 0.0, "also onnx_quantized_model.onnx, with Q/DQ pairs"}})

}  // namespace quench
