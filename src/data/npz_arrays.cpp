#include "data/npz_arrays.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/joined.h"

namespace quench {
namespace {

const RtValue& named_array(const NamedValues& arrays, const char* option, const std::string& name) {
  const auto at = arrays.find(name);
  QUENCH_CHECK(at != arrays.end(), "there is no array '", name, "' (", option, "=); it holds ", names_of(arrays));
  return at->second;
}

bool is_input(const InputHint& hint, const std::string& name) {
  return std::find(hint.inputs.begin(), hint.inputs.end(), name) != hint.inputs.end();
}

std::set<std::string> names_option(const DatasetSpec& spec, const char* key) {
  std::set<std::string> names;
  const std::string text = text_option(spec, key).value_or("");
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    names.insert(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

}  // namespace

std::string names_of(const NamedValues& arrays) {
  if (arrays.empty()) return "nothing";
  return joined(arrays, ", ", [](const auto& one) { return in_quotes(one.first); });
}

std::int64_t ItemArrays::size() const { return items.empty() ? 0 : items.begin()->second.tensor().size(0); }

NamedValues ItemArrays::item(std::int64_t index) const {
  NamedValues one;
  for (const auto& [name, array] : items) one[name] = RtValue(array.tensor().select(0, index), array.dtype());
  return one;
}

ItemArrays item_arrays(const NamedValues& arrays, const std::set<std::string>& shared) {
  ItemArrays found;
  for (const auto& [name, array] : arrays)
    (array.tensor().dim() == 0 || shared.contains(name) ? found.shared : found.items)[name] = array;
  for (const auto& [name, array] : found.items)
    QUENCH_CHECK(array.tensor().size(0) == found.size(),
                 "the arrays hold different numbers of items (their first axis): '", found.items.begin()->first, "' ",
                 found.size(), ", '", name, "' ", array.tensor().size(0),
                 "; name one that is the same for all items with shared=", name);
  return found;
}

std::set<std::string> shared_option(const DatasetSpec& spec) { return names_option(spec, "shared"); }

NamedValues target_arrays(const NamedValues& arrays, const DatasetSpec& spec) {
  NamedValues targets;
  for (const std::string& name : names_option(spec, "target")) targets[name] = named_array(arrays, "target", name);
  return targets;
}

std::string label_array(const NamedValues& arrays, const DatasetSpec& spec, const InputHint& hint) {
  if (const auto name = text_option(spec, "labels")) {
    named_array(arrays, "labels", *name);
    return *name;
  }
  for (const char* usual : {"labels", "y"})
    if (arrays.contains(usual) && !is_input(hint, usual)) return usual;
  return "";
}

NamedValues input_arrays(const NamedValues& arrays, const DatasetSpec& spec, const InputHint& hint) {
  if (const auto name = text_option(spec, "input")) return {{"", named_array(arrays, "input", *name)}};
  NamedValues inputs = arrays;
  inputs.erase(label_array(arrays, spec, hint));
  for (const auto& [name, array] : target_arrays(arrays, spec))
    if (!is_input(hint, name)) inputs.erase(name);  // what the model reads may be its target, too: an autoencoder's
  if (hint.inputs.size() > 1 || (inputs.size() == 1 && !inputs.contains("array"))) return inputs;
  const bool own_name = hint.inputs.size() == 1 && inputs.contains(hint.inputs[0]);
  if (own_name) return {{"", inputs.at(hint.inputs[0])}};
  for (const char* usual : {"input", "x", "array"})
    if (inputs.contains(usual) && (inputs.size() == 1 || hint.inputs.size() == 1)) return {{"", inputs.at(usual)}};
  return inputs;
}

}  // namespace quench
