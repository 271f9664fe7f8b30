#include "calibrate/module_text.h"

#include <torch/nn/module.h>

#include <algorithm>
#include <sstream>

#include "quench/eager.h"
#include "quench/error.h"

namespace quench {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// What lies between the outermost parentheses of LibTorch's own print, if it has any.
std::string arguments_of(const torch::nn::Module& module) {
  std::ostringstream stream;
  module.pretty_print(stream);
  const std::string text = stream.str();
  if (!text.starts_with("torch::nn::")) return "";  // a type of the user's own: C++ names may hold parentheses
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return "";
  std::string arguments = text.substr(open + 1, close - open - 1);
  for (const auto& [from, to] : {std::pair{"[", "("}, {"]", ")"}, {"=true", "=True"}, {"=false", "=False"}})
    arguments = replaced(arguments, from, to);
  return arguments;
}

bool is_norm(const ModuleText& text) { return text.type.starts_with("BatchNorm"); }

// "ConvBnReLU2d", "LinearReLU", "BNReLU2d".
std::string fused_type(const std::vector<ModuleText>& parts) {
  std::string stem = parts[0].type, dims;
  if (is_norm(parts[0])) stem = replaced(stem, "BatchNorm", "BN");
  if (stem.ends_with("d") && stem.size() > 2) {
    dims = stem.substr(stem.size() - 2);
    stem.erase(stem.size() - 2);
  }
  for (std::size_t i = 1; i < parts.size(); ++i) {
    stem += is_norm(parts[i]) ? "Bn" : "ReLU";
    if (is_norm(parts[i]) && dims.empty()) dims = parts[i].type.substr(parts[i].type.size() - 2);
  }
  return stem + dims;
}

}  // namespace

std::string short_type(std::string type) {
  const std::size_t colon = type.rfind("::");
  if (colon != std::string::npos) type.erase(0, colon + 2);
  if (type.ends_with("Impl")) type.erase(type.size() - 4);
  return type;
}

ModuleText* ModuleText::find(const std::string& path) {
  if (path.empty()) return this;
  for (auto& [name, child] : children) {
    if (path == name) return &child;
    if (path.starts_with(name + ".")) return child.find(path.substr(name.size() + 1));
  }
  return nullptr;
}

ModuleText* ModuleText::find_node(const std::string& node) {
  const auto at = modules.find(node);
  return find(at == modules.end() ? node : at->second);
}

ModuleText* ModuleText::find_type(const std::string& wanted) {
  if (type == wanted && children.empty()) return this;
  for (auto& [name, child] : children)
    if (ModuleText* found = child.find_type(wanted)) return found;
  return nullptr;
}

std::string ModuleText::text(const std::string& indentation) const {
  if (children.empty()) return type + "(" + arguments + ")";
  const std::string inner = indentation + "  ";
  std::string all = type + "(\n";
  if (!arguments.empty()) all += inner + arguments + "\n";
  for (const auto& [name, child] : children) all += concat(inner, "(", name, "): ", child.text(inner), "\n");
  return all + indentation + ")";
}

ModuleText module_text(const torch::nn::Module& module) {
  ModuleText text{short_type(module.name()), arguments_of(module)};
  for (const auto& item : module.named_children()) text.children.emplace_back(item.key(), module_text(*item.value()));
  return text;
}

void fuse_text(ModuleText& root, const std::vector<std::string>& names, bool is_training) {
  std::vector<ModuleText> parts;
  bool folds = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    ModuleText* module = root.find(names[i]);
    if (!module) return;
    const bool is_folded = is_norm(*module) && i > 0 && !is_training;
    folds = folds || is_folded;
    if (!is_folded) parts.push_back(*module);
    if (i > 0) *module = {"Identity", ""};
  }
  if (folds) parts[0].arguments = replaced(parts[0].arguments, ", bias=False", "");  // it has one now
  ModuleText& first = *root.find(names[0]);
  if (parts.size() == 1) {
    first = parts[0];
    return;
  }
  first = {fused_type(parts), ""};
  for (std::size_t i = 0; i < parts.size(); ++i) first.children.emplace_back(concat(i), parts[i]);
}

std::ostream& operator<<(std::ostream& stream, const EagerModel& model) {
  ModuleText text = module_text(model.module());
  for (const auto& names : model.fused) fuse_text(text, names, model.module().is_training());
  return stream << text.text();
}

}  // namespace quench
