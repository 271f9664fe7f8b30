#include "quench/plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "plugin/elf_section.h"
#include "quench/plugin_tag.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

std::vector<PluginItem>*& items_being_loaded() {
  static std::vector<PluginItem>* items = nullptr;
  return items;
}

std::vector<std::string>& plugins() {
  static std::vector<std::string> paths;
  return paths;
}

// "LibTorch: 2.15.0" lines -> {"LibTorch", "2.15.0"}. The text ends at the first zero, as two tags would follow each
// other.
std::map<std::string, std::string> facts_of(const std::string& tag) {
  std::map<std::string, std::string> facts;
  std::istringstream lines(tag.c_str());
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t colon = line.find(": "); colon != std::string::npos)
      facts[line.substr(0, colon)] = line.substr(colon + 2);
  return facts;
}

void check_tag(const std::string& path) {
  const std::optional<std::string> tag = elf_section(path, QUENCH_PLUGIN_SECTION);
  QUENCH_CHECK(tag, "'", path, "' has no tag of a quench plug-in: build it with quench_add_plugin(), or put ",
               "QUENCH_PLUGIN() into one of its files (quench/plugin_tag.h)");
  std::map<std::string, std::string> theirs = facts_of(*tag);
  std::string differences;
  for (const auto& [fact, ours] : facts_of(QUENCH_PLUGIN_TAG)) {
    const std::string& found = theirs[fact].empty() ? "unknown" : theirs[fact];
    if (found != ours) differences += concat(differences.empty() ? "" : "; ", fact, " ", found, " (here ", ours, ")");
  }
  QUENCH_CHECK(differences.empty(), "'", path, "' was built for another quench: ", differences,
               "; build it again with this one");
}

class Collecting {
 public:
  explicit Collecting(std::vector<PluginItem>& items) { items_being_loaded() = &items; }
  ~Collecting() { items_being_loaded() = nullptr; }
  Collecting(const Collecting&) = delete;
  Collecting& operator=(const Collecting&) = delete;
};

// Opens the library; its registrations are collected, not run. The initializers that collect them run once only: after
// an error the items of the first time are tried again.
const std::vector<PluginItem>& open_library(const std::string& path) {
  static std::map<std::string, std::vector<PluginItem>> opened;
  if (const auto at = opened.find(path); at != opened.end()) return at->second;
  std::vector<PluginItem> items;
  const void* handle = nullptr;
  {
    const Collecting collecting(items);  // an initializer may throw
    handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  QUENCH_CHECK(handle, "'", path, "' cannot be linked: ", ::dlerror());
  return opened[path] = items;
}

std::set<std::pair<std::string, std::string>>& claimed_names() {
  static std::set<std::pair<std::string, std::string>> names;
  return names;
}

void register_all(const std::vector<PluginItem>& items) {
  claimed_names().clear();
  for (const PluginItem item : items) item(true);
  for (const PluginItem item : items) item(false);
}

}  // namespace

bool register_when_loaded(PluginItem item) {
  if (std::vector<PluginItem>* items = items_being_loaded())
    items->push_back(item);
  else
    item(false);
  return true;
}

void claim_name(const char* kind, const std::string& name) {
  QUENCH_CHECK(claimed_names().emplace(kind, name).second, "the plug-in registers the ", kind, " '", name, "' twice");
}

void fail_name_taken(const char* kind, const std::string& name, const char* file) {
  const std::string owner = plugin_of(file);
  fail("the ", kind, " '", name, "' exists already, in ",
       owner.empty() ? fs::path(file).filename().string() : "the plug-in " + owner, "; give yours another name");
}

void load_plugin(const std::string& path) {
  with_context([&] { return concat("while loading the plug-in ", path); },
               [&] {
                 check_tag(path);
                 const std::string real = fs::canonical(path).string();
                 if (std::find(plugins().begin(), plugins().end(), real) != plugins().end()) return;
                 register_all(open_library(real));
                 plugins().push_back(real);
               });
}

const std::vector<std::string>& loaded_plugins() { return plugins(); }

std::string plugin_of(const void* address) {
  Dl_info library{};
  if (::dladdr(address, &library) == 0 || !library.dli_fname) return "";
  const auto at = std::find(plugins().begin(), plugins().end(), library.dli_fname);
  return at == plugins().end() ? "" : fs::path(*at).filename().string();
}

}  // namespace quench
