// import_model: by what the file is, whatever it is called.
#include <algorithm>
#include <array>
#include <fstream>

#include "core/zip_archive.h"
#include "import/pt2_archive.h"
#include "quench/error.h"
#include "quench/import.h"

namespace quench {
namespace {

bool is_zip(const std::string& path) {
  std::array<char, 4> head = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(head.data(), head.size()) && std::string(head.data(), head.size()) == "PK\x03\x04";
}

// What torch writes has a version; LibTorch's own reader says little of other archives.
bool has_version(const ZipArchive& zip) {
  const std::vector<std::string> names = zip.names();
  return std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.ends_with("/version"); });
}

bool is_torch_export(const std::string& path) {
  const ZipArchive zip(path);
  if (is_pt2_archive(zip)) return true;
  QUENCH_CHECK(has_version(zip), "a zip archive, but neither of torch.export nor of TorchScript");
  return false;
}

Graph import_zip(const std::string& path, const ImportOptions& options) {
  const bool is_pt2 = with_context([&] { return "while importing " + path; }, [&] { return is_torch_export(path); });
  return is_pt2 ? import_pt2(path, options) : import_torchscript(path, options);
}

}  // namespace

Graph import_model(const std::string& path, const ImportOptions& options) {
  return is_zip(path) ? import_zip(path, options) : import_onnx(path, options);
}

}  // namespace quench
