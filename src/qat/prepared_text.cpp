#include "qat/prepared_text.h"

#include <ATen/ATen.h>

#include <ostream>
#include <sstream>

#include "calibrate/module_of_node.h"
#include "calibrate/quantizer_text.h"
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

// "QuantizedLinear(in_features=64, ...)"
ModuleText parsed(const std::string& text) {
  const std::size_t open = text.find('(');
  return {text.substr(0, open), text.substr(open + 1, text.size() - open - 2)};
}

ModuleText* module_of(ModuleText& root, const std::string& node, const ModuleText& text) {
  if (text.type == "Quantize") return root.find_type("QuantStub");
  if (text.type == "DeQuantize") return root.find_type("DeQuantStub");
  ModuleText* module = root.find_node(node);
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
    ModuleText* module = module_of(root, node, text);
    if (module)
      *module = text;
    else
      root.children.emplace_back(node, text);
    const auto at = root.modules.find(node);
    if (at == root.modules.end()) continue;
    const std::string taken = at->second;  // a ReLU behind it may have a line of its own
    std::erase_if(root.modules, [&](const auto& item) { return item.second == taken; });
  }
  drop_norms(root);
  return root.text();
}

}  // namespace

ModuleText prepared_text(const EagerModel& source, QuantizedModel& model) {
  ModuleText text = module_text(source.module());
  text.modules = modules_of_nodes(source.modules(), model.graph);
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
  root.modules = modules_of_nodes(source.modules(), source.trace());
  for (const auto& names : source.fused) fuse_text(root, names, /*is_training=*/true);
  return in_shape_of(std::move(root), converted);
}

std::string print_converted(const QatModule& source, const QuantizedModel& converted) {
  return in_shape_of(source.text_ ? *source.text_ : ModuleText{"QatModule", ""}, converted);
}

std::string QatModule::text() const {
  ModuleText text = text_ ? *text_ : ModuleText{"QatModule", ""};
  add_quantizers(text, *model_, /*only_observe=*/false);
  return text.text();
}

std::ostream& operator<<(std::ostream& stream, const QatModule& module) { return stream << module.text(); }

}  // namespace quench
