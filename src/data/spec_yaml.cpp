#include "data/spec_yaml.h"

#include <yaml-cpp/yaml.h>

#include "data/spec_options.h"

namespace quench {
namespace {

using Entries = std::map<std::string, std::string>;

// A list is written as the spec string has it: 0.5,0.5.
std::string value_text(const std::string& key, const YAML::Node& value) {
  if (value.IsScalar()) return value.Scalar();
  QUENCH_CHECK(value.IsSequence() && value.size() > 0, "'", key, "' must be a text, a number or a list of them");
  std::string text;
  for (const YAML::Node& item : value) {
    QUENCH_CHECK(item.IsScalar(), "the list '", key, "' must hold texts or numbers only");
    text += (text.empty() ? "" : ",") + item.Scalar();
  }
  return text;
}

Entries entries_of(const YAML::Node& map) {
  Entries entries;
  for (const auto& entry : map) {
    QUENCH_CHECK(entry.first.IsScalar(), "a key must be a plain word");
    const std::string& key = entry.first.Scalar();
    QUENCH_CHECK(entries.emplace(key, value_text(key, entry.second)).second, "'", key, "' is given twice");
  }
  return entries;
}

// The entry, which is taken out.
std::string take(Entries& entries, const std::string& key) {
  const auto at = entries.find(key);
  if (at == entries.end()) {
    std::vector<std::string> keys;
    for (const auto& [given, value] : entries) keys.push_back(given);
    const std::string nearest = nearest_name(key, keys);
    fail("the data has no '", key, "'", nearest.empty() ? "" : concat("; is '", nearest, "' meant for it?"));
  }
  QUENCH_CHECK(!at->second.empty(), "'", key, "' has no value");
  std::string value = std::move(at->second);
  entries.erase(at);
  return value;
}

DatasetSpec spec_of(const YAML::Node& node) {
  if (node.IsScalar()) return parse_spec(node.Scalar());
  QUENCH_CHECK(node.IsMap(),
               "the data must be a spec such as cifar10:FILE?norm=imagenet, or a map with 'kind' and 'path'");
  Entries entries = entries_of(node);
  DatasetSpec spec;
  spec.kind = take(entries, "kind");
  spec.path = take(entries, "path");
  spec.options = std::move(entries);
  return spec;
}

}  // namespace

DatasetSpec spec_from_yaml(const YAML::Node& node) {
  return with_context([&] { return concat("in line ", node.Mark().line + 1); },
                      [&] {
                        DatasetSpec spec = spec_of(node);
                        check_options(spec);
                        return spec;
                      });
}

}  // namespace quench
