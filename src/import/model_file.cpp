// import_model: by what the file is, whatever it is called.
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

Graph import_zip(const std::string& path, const ImportOptions& options) {
  const bool is_pt2 =
      with_context([&] { return "while importing " + path; }, [&] { return is_pt2_archive(ZipArchive(path)); });
  return is_pt2 ? import_pt2(path, options) : import_torchscript(path, options);
}

}  // namespace

Graph import_model(const std::string& path, const ImportOptions& options) {
  return is_zip(path) ? import_zip(path, options) : import_onnx(path, options);
}

}  // namespace quench
