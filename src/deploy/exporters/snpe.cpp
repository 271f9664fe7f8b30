// snpe: encodings for Qualcomm's converter (--quantization_overrides); docs/platforms.md 5.2. The converter makes
// its own estimate where it finds no encoding, so every tensor whose range follows from a neighbour's gets one.
#include "deploy/file_endings.h"
#include "deploy/forms/side_file.h"
#include "ops/clamp.h"
#include "passes/rewrite.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

Json encoding_of(const StrippedTensor& tensor) {
  check_per_tensor(tensor, "SNPE");
  const Ends ends = ends_of(tensor.type);
  Json encoding;
  encoding["bitwidth"] = tensor.type.scheme.bits();
  encoding["min"] = ends.min;
  encoding["max"] = ends.max;
  return Json::array({encoding});
}

bool is_activation(const Value* value) { return value && !value->is_constant() && is_floating(value->dtype()); }

// `value` gets the range of `like` if only `like` has one.
bool copy_range(StrippedModel& model, const Value* value, const Value* like) {
  if (!is_activation(value) || !is_activation(like) || model.find(value->name())) return false;
  const StrippedTensor* range = model.find(like->name());
  if (!range) return false;
  StrippedTensor copy = *range;
  copy.name = value->name();
  add_tensor(model, std::move(copy));
  return true;
}

// What a clamp reads is clamped again by the range of what it gives, and a branch lies within what it is joined to. Not
// where another operator reads it too, which would see it cut off.
bool takes_range_from_behind(const Node& node, int slot) {
  if (node.op() == "Concat") return true;
  const bool clamps = is_clamp(node);
  if ((clamps || node.op() == "MaxPool") && (!node.input(slot) || only_user(*node.input(slot)) != &node)) return false;
  return slot == 0 && (clamps || node.op() == "Resize" || entry_of(node).traits.range == RangeRule::kPasses);
}

bool spread_at(StrippedModel& model, const Node& node) {
  bool changed = false;
  if (entry_of(node).traits.range == RangeRule::kPasses) changed |= copy_range(model, &node.output(), node.input(0));
  for (int slot = 0; slot < static_cast<int>(node.inputs().size()); ++slot)
    if (takes_range_from_behind(node, slot)) changed |= copy_range(model, node.input(slot), &node.output());
  return changed;
}

void spread_ranges(StrippedModel& model) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& node : model.graph.nodes())
      if (!node->outputs().empty() && node->outputs()[0]) changed |= spread_at(model, *node);
  }
}

void note_missing(const StrippedModel& model, Deployment& deployment) {
  std::string names;
  int count = 0;
  for (const auto& node : model.graph.nodes())
    for (const Value* output : node->outputs())
      if (is_activation(output) && !model.find(output->name()) && ++count <= 3)
        names += concat(count == 1 ? "'" : ", '", output->name(), "'");
  if (count > 3) names += concat(" and ", count - 3, " more");
  if (count > 0) deployment.notes.push_back(concat("the converter estimates the ranges of what stays float: ", names));
}

void write_snpe(const DeployJob& job, Deployment& deployment) {
  StrippedModel model = strip_quantizers(job.graph);
  spread_ranges(model);
  Json activations = Json::object(), parameters = Json::object();
  for (const StrippedTensor& tensor : model.tensors)
    (tensor.role == Role::kActivation ? activations : parameters)[tensor.name] = encoding_of(tensor);
  check_tensors(model.graph, activations);
  check_tensors(model.graph, parameters);
  Json content;
  content["activation_encodings"] = std::move(activations);
  content["param_encodings"] = std::move(parameters);
  deployment.files.push_back(model_file(job, kStrippedEnding, model.graph));
  deployment.files.push_back(json_file(job, "_clip_ranges.json", content, "encodings of activations and parameters"));
  note_missing(model, deployment);
}

}  // namespace

QUENCH_REGISTER_EXPORTER("snpe", write_snpe, "encodings for Qualcomm's converter: N_clip_ranges.json", {},
                         IoTypes::kFloat32)

}  // namespace quench
