#include "calibrate/quantizer_text.h"

#include <ATen/ATen.h>

#include "quench/error.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

// The module that writes what the quantizer reads: fused ones write what their last part did.
ModuleText* writer_of(ModuleText& root, const Node& quantizer) {
  const Node* node = quantizer.input(0)->producer();
  while (node && !is_quantizer(node)) {
    if (node->op() == "quench.QuantStub") return root.find_type("QuantStub");
    ModuleText* module = root.find_node(node->name());
    if (module && module->type != "Identity") return module;
    node = node->input(0) ? node->input(0)->producer() : nullptr;
  }
  return nullptr;
}

ModuleText quantizer_text(const Node& quantizer, const PlanEntry& entry, bool only_observes) {
  std::string text = concat(entry.scheme.text(), ", quant_min=", entry.scheme.qmin(),
                            ", quant_max=", entry.scheme.qmax(), ", observer=", entry.observer);
  if (only_observes) return {"Observer", text};
  if (entry.fake_quant != "fixed") text += concat(", fake_quant=", entry.fake_quant);
  const FakeQuantTensors tensors = fake_quant_tensors(quantizer);
  if (tensors.scale().numel() == 1)
    text += concat(", scale=", tensors.scale().item<float>(), ", zero_point=", tensors.zero_point().item<float>());
  return {"FakeQuantize", text};
}

void add_quantizer(ModuleText& root, const Node& quantizer, const PlanEntry& entry, bool only_observes) {
  const ModuleText text = quantizer_text(quantizer, entry, only_observes);
  if (entry.role == Role::kActivation) {
    ModuleText* writer = writer_of(root, quantizer);
    const std::string name = "activation_post_process";
    if (writer && !writer->find(name))
      writer->children.emplace_back(name, text);
    else
      root.children.emplace_back(concat(entry.value, ".", name), text);  // of a function, not of a module
    return;
  }
  const char* end = only_observes ? "_observer" : "_fake_quant";
  const std::size_t dot = entry.value.rfind('.');
  ModuleText* layer = dot == std::string::npos ? nullptr : root.find(entry.value.substr(0, dot));
  if (layer)
    layer->children.emplace_back(entry.value.substr(dot + 1) + end, text);
  else
    root.children.emplace_back(entry.value + end, text);
}

}  // namespace

void add_quantizers(ModuleText& root, const QuantizedModel& model, bool only_observe) {
  for (const Node* quantizer : quantizers_of(model.graph))
    if (const PlanEntry* entry = model.entry_of(*quantizer)) add_quantizer(root, *quantizer, *entry, only_observe);
}

}  // namespace quench
