#include "report/kept_results.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/output_folder.h"
#include "quench/error.h"
#include "report/file_hash.h"

namespace fs = std::filesystem;

namespace quench {
namespace {

bool lists(const std::vector<std::string>& files, const std::string& file) {
  return std::find(files.begin(), files.end(), file) != files.end();
}

// The folder of the run, and the file's path in it; both empty if there is none.
std::pair<std::string, std::string> run_of(const std::string& file) {
  const fs::path path = fs::absolute(file).lexically_normal();
  for (fs::path folder = path.parent_path(), last = folder.parent_path();; folder = folder.parent_path()) {
    const std::string name = path.lexically_relative(folder).string();
    const std::vector<std::string> own = own_files(folder.string());
    if (lists(own, "record.json") && lists(own, name)) return {folder.string(), name};
    if (folder == last) return {};
  }
}

bool is_outdated(const fs::path& folder, const Json& result) {
  if (!result.contains("path") || !result.contains("sha1")) return false;
  const fs::path file = folder / result["path"].get<std::string>();
  return !fs::exists(file) || hash_file(file.string()).sha1 != result["sha1"].get<std::string>();
}

}  // namespace

Json read_json(const std::string& path) {
  std::ifstream file(path);
  QUENCH_CHECK(file, "cannot read '", path, "'");
  try {
    return Json::parse(file);
  } catch (const Json::exception& error) {
    fail("'", path, "' is not JSON: ", error.what());
  }
}

void keep_result(const std::string& file, const char* kept_in, Json result, const std::vector<std::string>& keys) {
  const auto [folder, name] = run_of(file);
  if (folder.empty() || ::access(folder.c_str(), W_OK) != 0) return;
  result["path"] = name;
  result["sha1"] = hash_file(file).sha1;
  Json list = kept_results(folder, kept_in, {});
  const auto replaced = [&](const Json& old) {
    return old.value("outdated", false) ||
           (old.value("path", "") == name && std::all_of(keys.begin(), keys.end(), [&](const std::string& key) {
              return old.contains(key) && old[key] == result[key];
            }));
  };
  list.erase(std::remove_if(list.begin(), list.end(), replaced), list.end());
  list.push_back(std::move(result));
  write_own_file(folder, kept_in, list.dump(2) + "\n");
}

Json kept_results(const std::string& folder, const char* kept_in, const std::vector<std::string>& printed) {
  Json list = Json::array();
  if (const fs::path own = fs::path(folder) / kept_in; fs::exists(own)) {
    list = read_json(own.string());
    QUENCH_CHECK(list.is_array(), "'", own.string(), "' is not a list of results");
  }
  for (Json& result : list)
    if (is_outdated(folder, result)) result["outdated"] = true;
  for (const std::string& file : printed) {
    const Json found = read_json(file);
    QUENCH_CHECK(found.is_object(), "'", file, "' is not what 'quench verify' or 'quench bench' prints as JSON");
    if (!found.contains("files"))
      list.push_back(found);
    else
      for (const Json& one : found["files"]) list.push_back(one);
  }
  return list;
}

}  // namespace quench
