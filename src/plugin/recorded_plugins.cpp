#include "plugin/recorded_plugins.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "quench/plugin.h"

namespace quench {
namespace {

constexpr const char* kPluginsKey = "quench.plugins";
constexpr const char* kBeforeVersion = " (quench ";

bool is_loaded(const std::string& file) {
  const std::vector<std::string>& loaded = loaded_plugins();
  return std::any_of(loaded.begin(), loaded.end(),
                     [&](const std::string& path) { return std::filesystem::path(path).filename().string() == file; });
}

// "a.so (quench 1.2.3) and b.so (quench 1.2.3)": those of the record that are not loaded.
std::string missing_plugins(const std::string& recorded) {
  std::string missing;
  std::istringstream lines(recorded);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && !is_loaded(line.substr(0, line.find(kBeforeVersion))))
      missing += (missing.empty() ? "" : " and ") + line;
  return missing;
}

}  // namespace

// load_plugin() takes none whose tag names another version than this one's.
void record_plugins(Metadata& metadata) {
  std::string text;
  for (const std::string& path : loaded_plugins())
    text += concat(text.empty() ? "" : "\n", std::filesystem::path(path).filename().string(), kBeforeVersion,
                   QUENCH_VERSION, ")");
  if (!text.empty()) metadata[kPluginsKey] = text;
}

void forget_plugins(Metadata& metadata) { metadata.erase(kPluginsKey); }

void hint_at_plugins(Error& error, const Metadata& metadata) {
  const auto recorded = metadata.find(kPluginsKey);
  const std::string missing = recorded == metadata.end() ? "" : missing_plugins(recorded->second);
  if (!missing.empty())
    error.add_context(
        concat("the model was made with the plug-in ", missing, ", not loaded here: load it first (load_plugin())"));
  else if (error.message().starts_with("unknown "))
    error.add_context("the name is in the model's file; if it is a plug-in's, load that first (load_plugin())");
}

}  // namespace quench
