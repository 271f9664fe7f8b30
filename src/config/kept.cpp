// Keys that are understood, but whose stage is not built: kept, and refused by name when that stage would run. And keys
// of our own in the place of another tool's.
#include "config/parts.h"
#include "config/schema.h"
#include "core/joined.h"
#include "quench/registry.h"

namespace quench {
namespace {

bool is_own_key(const std::string& key) {
  const std::map<std::string, std::string> keys = config_keys();
  const auto at = keys.lower_bound(key);
  return at != keys.end() && (at->first == key || at->first.starts_with(key + "."));
}

// "calibration.batches": with what an override has below it.
std::string whole_path(std::string path, const Tree& tree) {
  const Tree* at = &tree;
  for (; at->is_map() && at->entries.size() == 1; at = &at->entries[0].second) path += "." + at->entries[0].first;
  return path;
}

}  // namespace

void keep(JobConfig& job, JobStage stage, MapReader& map, const std::vector<std::string>& keys) {
  for (const std::string& key : keys)
    if (const Tree* found = map.find(key))
      job.kept.push_back({stage, map.path_of(key), one_line(*found), found->where()});
}

void note(JobConfig& job, const std::string& text) { job.notes.push_back(text); }

void skip(JobConfig& job, MapReader& map, const std::vector<std::string>& keys, const std::string& reason) {
  std::vector<std::string> found;
  for (const std::string& key : keys)
    if (map.find(key)) found.push_back(map.path_of(key));
  if (!found.empty()) note(job, joined_in_quotes(found) + ": " + reason);
}

void finish_layout(MapReader& map) {
  for (MapReader rest = map; const std::string& key : rest.rest())
    if (const Tree& value = *map.tree().find(key); is_own_key(key))
      fail_at(value, "unknown key '", key, "' of this layout; did you mean 'quench.", whole_path(key, value),
              "'? (what the layout has no key for goes under 'quench')");
  map.finish();
}

void refuse_unbuilt(const JobConfig& job, JobStage stage) {
  std::string keys;
  for (const KeptKey& kept : job.kept)
    if (kept.stage == stage) keys += concat("\n  '", kept.key, "' ", kept.where);
  QUENCH_CHECK(keys.empty(), "the config asks for things that '", name_of(stage),
               "' does not support yet; remove these keys:", keys);
}

const char* name_of(JobStage stage) {
  switch (stage) {
    case JobStage::kTrace: return "trace";
    case JobStage::kQuantize: return "quantize";
    case JobStage::kReconstruct: return "reconstruct";
    case JobStage::kTrain: return "train";
    case JobStage::kDeploy: return "deploy";
  }
  return "";
}

}  // namespace quench
