#include "data/targets/item_file.h"

#include <filesystem>

#include "quench/error.h"

namespace quench {

std::string item_file(const std::string& folder, const std::string& item, const std::vector<std::string>& endings) {
  namespace fs = std::filesystem;
  const fs::path name(item);
  std::string list;
  for (const fs::path& below : {name, name.filename()})
    for (const std::string& ending : endings) {
      const fs::path file = fs::path(folder) / fs::path(below).replace_extension(ending);
      if (fs::exists(file)) return file.string();
    }
  for (const std::string& ending : endings) list += (list.empty() ? "" : " or ") + name.stem().string() + ending;
  fail("there is no ", list, " in '", folder, "'");
}

}  // namespace quench
