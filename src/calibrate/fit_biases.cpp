#include "calibrate/fit_biases.h"

#include <ATen/ATen.h>

#include "quant/accumulator.h"
#include "quench/error.h"
#include "quench/executor.h"

namespace quench {
namespace {

std::vector<float> floats_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kCPU, at::kFloat).flatten().contiguous();
  return {flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel()};
}

// The quantizer that owns this scale and follows no other.
const Node* quantizer_with(const QuantizedModel& model, const Value* scale) {
  for (const Node* node : quantizers_of(model.graph))
    if (node->input(1) == scale && !leader_of(model, *node)) return node;
  return nullptr;
}

std::string channels_text(const RaisedScales& raised) {
  if (raised.scale.size() == 1) return "its one scale";
  std::string channels;
  for (const std::size_t channel : raised.channels) channels += concat(channels.empty() ? "channels " : ", ", channel);
  return channels;
}

// The plan says so too, so that its readers need not wonder where a scale came from.
void note_in_plan(QuantPlan& plan, const std::string& weight, const std::string& what) {
  const std::string note = "raised so that the int32 bias fits";
  for (PlanEntry& entry : plan.entries)
    if (entry.value == weight && entry.rule.find(note) == std::string::npos)
      entry.rule += concat("; ", what, " ", note);
}

std::string fit_bias(QuantizedModel& model, const Node& bias, Executor& executor) {
  const Node* weight = quantizer_with(model, bias.input(2));
  QUENCH_CHECK(weight, "its weight's scale belongs to no quantizer");
  const std::string& name = bias.input(0)->name();
  const std::vector<float> x_scale = floats_of(bias.input(1)->tensor().abs());
  QUENCH_CHECK(x_scale.size() == 1, "the layer's input has ", x_scale.size(),
               " scales; a bias in int32 needs one for the whole tensor");
  const FakeQuantTensors tensors = fake_quant_tensors(*weight);
  QParams params{floats_of(tensors.scale().abs()), {}};
  for (const float zero : floats_of(tensors.zero_point())) params.zero_point.push_back(static_cast<int>(zero));
  const std::vector<float> values = floats_of(executor.run({}, {name}).at(name).tensor());
  const RaisedScales raised = raise_weight_scales(values, x_scale[0], {fake_quant_spec(*weight).scheme, params});
  if (raised.channels.empty()) return "";
  params.scale = raised.scale;
  set_qparams(*weight, params);
  note_in_plan(model.plan, weight->input(0)->name(), channels_text(raised));
  return concat("'", weight->input(0)->name(), "': ", channels_text(raised));
}

}  // namespace

std::vector<std::string> fit_biases(QuantizedModel& model) {
  std::vector<std::string> lines;
  Executor executor(model.graph);
  for (const Node* node : bias_quantizers_of(model.graph)) {
    const std::string line =
        with_context([&] { return concat("at ", node->where()); }, [&] { return fit_bias(model, *node, executor); });
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

}  // namespace quench
