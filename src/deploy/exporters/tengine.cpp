// tengine: scales and zero points for Tengine, as lines "tensor scale zero_point"; docs/platforms.md 5.7.
#include "deploy/forms/side_file.h"
#include "ops/clamp.h"
#include "quench/error.h"

namespace quench {
namespace {

bool is_fused_clamp(const Node& node) { return node.op() == "Relu" || is_relu6(node); }

// Tengine's converter runs a Relu or Relu6 inside the convolution before it: that one's output has the same scale.
void add_fused_layers(StrippedModel& model) {
  const std::vector<StrippedTensor> before = model.tensors;
  for (const StrippedTensor& tensor : before) {
    const Node* clamp = model.graph.value(tensor.name).producer();
    const Node* conv = clamp && is_fused_clamp(*clamp) ? clamp->input(0)->producer() : nullptr;
    if (!conv || conv->op() != "Conv") continue;
    StrippedTensor copy = tensor;
    copy.name = conv->output().name();
    add_tensor(model, std::move(copy));
  }
}

void write_tengine(const DeployJob& job, Deployment& deployment) {
  StrippedModel model = strip_quantizers(job.graph);
  for (const StrippedTensor& tensor : model.tensors) check_per_tensor(tensor, "Tengine");
  add_fused_layers(model);
  pass_ranges_back(model);
  std::vector<TextLine> lines;
  std::vector<std::string> names;
  for (const StrippedTensor& tensor : model.tensors) {
    if (tensor.role != Role::kActivation) continue;
    ends_of(tensor.type);  // integers only
    names.push_back(tensor.name);
    lines.emplace_back(tensor.name,
                       concat(number_text(tensor.type.params.scale[0]), " ", tensor.type.params.zero_point[0]));
  }
  check_tensors(model.graph, names);
  deployment.files.push_back(model_file(job, "_for_tengine.onnx", model.graph));
  deployment.files.push_back(text_file(job, "_for_tengine.scale", lines, " ", "scale and zero point of activations"));
}

}  // namespace

QUENCH_REGISTER_EXPORTER("tengine", write_tengine, "scales for Tengine: N_for_tengine.onnx, N_for_tengine.scale", {},
                         IoTypes::kFloat32)

}  // namespace quench
