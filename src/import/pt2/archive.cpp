#include "import/pt2/archive.h"

#include <algorithm>

#include "quench/error.h"

namespace quench {
namespace {

constexpr const char *kModels = "models/", *kJson = ".json";

// "net/models/model.json" -> "net/": what precedes "models/", at most one folder.
std::string root_of(const std::string& name, const std::string& tail) {
  const std::size_t at = name.find(tail);
  if (at == std::string::npos) return name;
  const bool is_root = at == 0 || name.find('/') == at - 1;
  return is_root ? name.substr(0, at) : name;
}

bool is_program(const std::string& name) {
  if (!name.ends_with(kJson)) return false;
  const std::string root = root_of(name, kModels);
  return root != name && name.find('/', root.size() + std::string(kModels).size()) == std::string::npos;
}

bool any_contains(const std::vector<std::string>& names, const std::string& part) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name.find(part) != std::string::npos; });
}

bool is_older_export(const std::vector<std::string>& names) {
  return any_contains(names, "serialized_exported_program.json");
}

[[noreturn]] void refuse(const std::vector<std::string>& names) {
  QUENCH_CHECK(!is_older_export(names),
               "a torch.export archive of the form before torch 2.9, whose weights are pickled; export it again");
  QUENCH_CHECK(!any_contains(names, "data/aotinductor/"),
               "a package compiled by AOTInductor, which holds no program; save the result of torch.export.export "
               "with torch.export.save");
  fail("a zip archive without models/NAME.json: not made by torch.export.save");
}

}  // namespace

bool is_pt2_archive(const ZipArchive& zip) {
  const std::vector<std::string> names = zip.names();
  const auto is_format = [](const std::string& name) {
    return root_of(name, "archive_format") + "archive_format" == name;
  };
  return is_older_export(names) || std::any_of(names.begin(), names.end(), is_format) ||
         std::any_of(names.begin(), names.end(), is_program);
}

Pt2Archive::Pt2Archive(const std::string& path) : zip_(path) {
  std::vector<std::string> programs;
  for (const std::string& name : zip_.names())
    if (is_program(name)) programs.push_back(name);
  if (programs.empty()) refuse(zip_.names());
  QUENCH_CHECK(programs.size() == 1, "the archive holds ", programs.size(), " programs ('", programs[0], "', '",
               programs[1], "' ...); save only the one to be read");
  root_ = root_of(programs[0], kModels);
  const std::size_t begin = root_.size() + std::string(kModels).size();
  model_ = programs[0].substr(begin, programs[0].size() - begin - std::string(kJson).size());
  QUENCH_CHECK(!has("byteorder") || text("byteorder") == "little", "the archive's tensors are not little-endian");
}

std::string Pt2Archive::text(const std::string& member) const {
  std::string bytes(size(member), '\0');
  read(member, bytes.data(), bytes.size());
  return bytes;
}

}  // namespace quench
