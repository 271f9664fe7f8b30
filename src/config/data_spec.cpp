// A data spec in a config: the spec string, or the same as a map.
#include "config/parts.h"
#include "core/joined.h"
#include "data/spec_options.h"
#include "quench/registry.h"

namespace quench {
namespace {

std::string required(MapReader& map, const std::string& key) {
  if (const auto text = map.text(key)) {
    if (text->empty()) fail_at(map.tree(), "'", map.path_of(key), "' has no value");
    return *text;
  }
  std::vector<std::string> keys;
  for (const auto& [given, value] : map.tree().entries) keys.push_back(given);
  const std::string nearest = nearest_name(key, keys);
  fail_at(map.tree(), "'", map.path_of(key), "' is missing",
          nearest.empty() ? "" : concat("; is '", nearest, "' meant for it?"));
}

// A list is written as the spec string has it: 0.5,0.5.
std::string value_text(const Tree& value, const std::string& path) {
  if (value.is_null()) fail_at(value, "'", path, "' must be a text, a number or a list of them");
  return joined(texts_of(value, path), ",");
}

}  // namespace

DatasetSpec read_spec(const Tree& tree, const std::string& path) {
  if (!tree.is_text() && !tree.is_map())
    fail_at(tree, "'", path, "' must be a spec such as cifar10:FILE?norm=imagenet, or a map with 'kind' and 'path'");
  DatasetSpec spec;
  if (tree.is_text()) {
    spec = at_place(tree, [&] { return parse_spec(tree.text); });
  } else {
    MapReader map(tree, path);
    spec.kind = required(map, "kind");
    spec.path = required(map, "path");
    for (const std::string& key : map.rest()) spec.options[key] = value_text(*tree.find(key), map.path_of(key));
  }
  at_place(tree, [&] { check_options(spec); });
  return spec;
}

void normalize_data(JobConfig& job) {
  if (job.mean.empty() || job.std.empty()) return;
  for (std::optional<DatasetSpec>* spec : {&job.data.calib, &job.data.eval, &job.data.train, &job.data.val}) {
    if (!*spec || ((*spec)->kind != "images" && (*spec)->kind != "cifar10" && (*spec)->kind != "idx")) continue;
    if ((*spec)->options.contains("norm") || (*spec)->options.contains("mean")) continue;
    (*spec)->options["mean"] = job.mean;
    (*spec)->options["std"] = job.std;
  }
}

}  // namespace quench
