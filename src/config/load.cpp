#include "config/load.h"

#include <algorithm>
#include <filesystem>

#include "config/map_reader.h"
#include "config/merge.h"
#include "data/read_file.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestFile = 16 << 20;
constexpr std::size_t kLongestChain = 32;  // how deep files may inherit from one another

using Chain = std::vector<fs::path>;  // the files that are being read, outermost first

void refuse_python(const std::string& path) {
  QUENCH_CHECK(!path.ends_with(".py"), "'", path,
               "' is a Python config, which would have to be run. Dump it, with all that it inherits, to YAML:\n"
               "  python -c \"from mmengine import Config; Config.fromfile('",
               path, "').dump('", fs::path(path).stem().string(), ".yaml')\"");
  QUENCH_CHECK(path.find("::") == std::string::npos, "'", path,
               "' lies inside a Python package. Dump the config that names it, with all that it inherits, to YAML "
               "(mmengine: Config.fromfile(FILE).dump('FILE.yaml'))");
}

Tree resolve(Tree tree, const fs::path& folder, const Chain& chain);

Tree load(const fs::path& path, Chain chain) {
  const fs::path real = fs::weakly_canonical(path);
  const auto again = std::find(chain.begin(), chain.end(), real);
  if (again != chain.end()) {
    std::string circle;
    for (auto at = again; at != chain.end(); ++at) circle += at->filename().string() + " -> ";
    fail("the configs inherit in a cycle: ", circle, real.filename().string());
  }
  QUENCH_CHECK(chain.size() < kLongestChain, "more than ", kLongestChain, " configs inherit from one another");
  chain.push_back(real);
  const auto bytes = read_file(path.string(), kLargestFile);
  return resolve(parse_tree({bytes.begin(), bytes.end()}, path.string()), path.parent_path(), chain);
}

// Two bases may not say different things about one key: the file does not show which would win.
void add_base(Tree& bases, Tree base, const Tree& place) {
  if (bases.is_null()) {
    bases = std::move(base);
    return;
  }
  for (const auto& [key, value] : base.entries)
    if (const Tree* first = bases.find(key))
      fail_at(place, "two bases both have the key '", key, "': ", first->where(), " and ", value.where());
  merge(bases, std::move(base));
}

Tree resolve(Tree tree, const fs::path& folder, const Chain& chain) {
  const Tree* named = tree.is_map() ? tree.find("_base_") : nullptr;
  if (!named) {
    Tree clean;
    merge(clean, std::move(tree));
    return clean;
  }
  const Tree place = *named;
  Tree bases;
  for (const std::string& name : texts_of(place, "_base_"))
    at_place(place, [&] {
      refuse_python(name);
      add_base(bases, load(folder / name, chain), place);
      QUENCH_CHECK(bases.is_map(), "the base '", name, "' must be a map");
    });
  tree.erase("_base_");
  merge(bases, std::move(tree));
  return bases;
}

}  // namespace

Tree load_tree(const std::string& path) {
  refuse_python(path);
  return load(path, {});
}

Tree load_tree_of_text(const std::string& text, const std::string& name) {
  return resolve(parse_tree(text, name), fs::path(name).parent_path(), {});
}

}  // namespace quench
