#include "import/trace/names.h"

#include "quench/error.h"

namespace quench {

namespace {

// Of the first input that has one.
std::string first_of(const std::map<const Value*, std::string>& names, const Values& inputs) {
  for (const Value* input : inputs)
    if (const auto at = names.find(input); at != names.end() && !at->second.empty()) return at->second;
  return "";
}

}  // namespace

std::string layer_of_tensor(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

std::string LayerNames::owner_of(const Values& inputs) const { return first_of(owners_, inputs); }

LayerNames::Name LayerNames::name_call(const std::string& kind, const Values& inputs, bool is_layer) const {
  const std::string op = kind.substr(kind.rfind(':') + 1);
  const std::string owner = owner_of(inputs);
  if (is_layer && !owner.empty()) return {owner, owner};
  const std::string layer = owner.empty() ? first_of(layers_, inputs) : owner;
  return {layer.empty() ? op : concat(layer, ".", op), layer};
}

void LayerNames::inherit(const Value& from, const Value& to) {
  pass_owner(from, to);
  if (const auto at = layers_.find(&from); at != layers_.end()) layers_[&to] = at->second;
}

void LayerNames::pass_owner(const Value& from, const Value& to) {
  if (const auto at = owners_.find(&from); at != owners_.end()) owners_[&to] = at->second;
}

}  // namespace quench
