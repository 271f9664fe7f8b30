#include "qat/prepared_text.h"

#include <ATen/ATen.h>

#include <ostream>
#include <sstream>

#include "passes/live_norm.h"
#include "quench/error.h"
#include "quench/qat.h"

namespace quench {
namespace {

// torch keeps the arguments of the layer and its norm: ConvBnReLU2d(1, 1, kernel_size=(1, 1), (bn): BatchNorm2d(...)).
void open_fused(ModuleText& fused) {
  if (fused.children.empty() || fused.children[0].first != "0") return;
  const std::vector<std::pair<std::string, ModuleText>> parts = std::move(fused.children);
  fused.children.clear();
  fused.arguments = parts[0].second.arguments;
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (parts[i].second.type.starts_with("BatchNorm")) fused.children.emplace_back("bn", parts[i].second);
}

bool is_plain_layer(const ModuleText* text) {
  return text && text->children.empty() && (text->type.starts_with("Conv") || text->type == "Linear");
}

ModuleText* first_of_type(ModuleText& text, const std::string& type) {
  if (text.type == type && text.children.empty()) return &text;
  for (auto& [name, child] : text.children)
    if (ModuleText* found = first_of_type(child, type)) return found;
  return nullptr;
}

// The module that writes what the quantizer reads: fused ones write what their last part did.
ModuleText* writer_of(ModuleText& root, const Node& quantizer) {
  const Node* node = quantizer.input(0)->producer();
  while (node && !is_quantizer(node)) {
    if (node->op() == "quench.QuantStub") return first_of_type(root, "QuantStub");
    ModuleText* module = root.find(node->name());
    if (module && module->type != "Identity") return module;
    node = node->input(0) ? node->input(0)->producer() : nullptr;
  }
  return nullptr;
}

ModuleText quantizer_text(const Node& quantizer, const PlanEntry& entry) {
  std::string text = concat(entry.scheme.text(), ", quant_min=", entry.scheme.qmin(),
                            ", quant_max=", entry.scheme.qmax(), ", observer=", entry.observer);
  if (entry.fake_quant != "fixed") text += concat(", fake_quant=", entry.fake_quant);
  const FakeQuantTensors tensors = fake_quant_tensors(quantizer);
  if (tensors.scale().numel() == 1)
    text += concat(", scale=", tensors.scale().item<float>(), ", zero_point=", tensors.zero_point().item<float>());
  return {"FakeQuantize", text};
}

void add_quantizer(ModuleText& root, const Node& quantizer, const PlanEntry& entry) {
  const ModuleText text = quantizer_text(quantizer, entry);
  if (entry.role == Role::kActivation) {
    ModuleText* writer = writer_of(root, quantizer);
    const std::string name = "activation_post_process";
    if (writer && !writer->find(name))
      writer->children.emplace_back(name, text);
    else
      root.children.emplace_back(concat(entry.value, ".", name), text);  // of a function, not of a module
    return;
  }
  const std::size_t dot = entry.value.rfind('.');
  ModuleText* layer = dot == std::string::npos ? nullptr : root.find(entry.value.substr(0, dot));
  if (layer)
    layer->children.emplace_back(entry.value.substr(dot + 1) + "_fake_quant", text);
  else
    root.children.emplace_back(entry.value + "_fake_quant", text);
}

// "QuantizedLinear(in_features=64, ...)"
ModuleText parsed(const std::string& text) {
  const std::size_t open = text.find('(');
  return {text.substr(0, open), text.substr(open + 1, text.size() - open - 2)};
}

ModuleText* module_of(ModuleText& root, const std::string& node, const ModuleText& text) {
  if (text.type == "Quantize") return first_of_type(root, "QuantStub");
  if (text.type == "DeQuantize") return first_of_type(root, "DeQuantStub");
  ModuleText* module = root.find(node);
  return module && module->type != "Identity" ? module : nullptr;
}

// Norms that are part of a layer now.
void drop_norms(ModuleText& text) {
  for (auto& [name, child] : text.children) {
    if (child.type.starts_with("BatchNorm")) child = {"Identity", ""};
    drop_norms(child);
  }
}

// Each line of the converted model takes the place of its module; what has none comes last.
std::string in_shape_of(ModuleText root, const QuantizedModel& converted) {
  std::istringstream lines(print_converted(converted));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t end = line.find("): ");
    const std::string node = line.substr(1, end - 1);
    const ModuleText text = parsed(line.substr(end + 3));
    if (ModuleText* module = module_of(root, node, text))
      *module = text;
    else
      root.children.emplace_back(node, text);
  }
  drop_norms(root);
  return root.text();
}

}  // namespace

ModuleText prepared_text(const EagerModel& source, QuantizedModel& model) {
  ModuleText text = module_text(source.module());
  for (const auto& names : source.fused) {
    fuse_text(text, names, /*is_training=*/true);
    open_fused(*text.find(names[0]));
  }
  for (const LiveNorm& live : find_live_norms(model.graph)) {
    const std::string layer = live.layer->name();
    if (!live.norm || !is_plain_layer(text.find(layer)) || !text.find(live.norm->name())) continue;
    fuse_text(text, {layer, live.norm->name()}, /*is_training=*/true);
    open_fused(*text.find(layer));
  }
  return text;
}

std::string print_converted(const EagerModel& source, const QuantizedModel& converted) {
  ModuleText root = module_text(source.module());
  for (const auto& names : source.fused) fuse_text(root, names, /*is_training=*/true);
  return in_shape_of(std::move(root), converted);
}

std::string print_converted(const QatModule& source, const QuantizedModel& converted) {
  return in_shape_of(source.text_ ? *source.text_ : ModuleText{"QatModule", ""}, converted);
}

std::string QatModule::text() const {
  ModuleText text = text_ ? *text_ : ModuleText{"QatModule", ""};
  for (const Node* quantizer : quantizers_of(model_->graph))
    if (const PlanEntry* entry = model_->entry_of(*quantizer)) add_quantizer(text, *quantizer, *entry);
  return text.text();
}

std::ostream& operator<<(std::ostream& stream, const QatModule& module) { return stream << module.text(); }

}  // namespace quench
