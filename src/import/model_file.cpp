// import_model: by what the file contains, whatever it is called.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "core/zip_archive.h"
#include "import/pt2/archive.h"
#include "quench/error.h"
#include "quench/import.h"

namespace quench {
namespace {

bool is_zip(const std::string& path) {
  std::array<char, 4> head = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(head.data(), head.size()) && std::string(head.data(), head.size()) == "PK\x03\x04";
}

// What torch writes has a version; LibTorch's own reader says little about other archives.
bool has_version(const ZipArchive& zip) {
  const std::vector<std::string> names = zip.names();
  return std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.ends_with("/version"); });
}

bool is_torch_export(const std::string& path) {
  const ZipArchive zip(path);
  if (is_pt2_archive(zip)) return true;
  QUENCH_CHECK(has_version(zip), "a zip archive, but from neither torch.export nor TorchScript");
  return false;
}

// A folder that 'quench quantize' wrote holds one model.
void check_no_folder(const std::string& path) {
  std::error_code failed;
  std::string model;
  for (const auto& file : std::filesystem::directory_iterator(path, failed))
    if (file.path().string().ends_with(".quench.onnx")) model = file.path().string();
  QUENCH_CHECK(!std::filesystem::is_directory(path, failed), "'", path, "' is a folder, not a model file",
               model.empty() ? "" : concat("; did you mean '", model, "'?"));
}

void check_no_shapes(const std::string& path, const ImportOptions& options) {
  QUENCH_CHECK(options.inputs.empty(),
               "the shapes of inputs (ImportOptions::inputs, or 'input_shape' of a config) are for ",
               "TorchScript files; ", path, " has them itself: omit them");
}

Graph import_zip(const std::string& path, const ImportOptions& options) {
  const bool is_pt2 = with_context([&] { return "while importing " + path; }, [&] { return is_torch_export(path); });
  if (!is_pt2) return import_torchscript(path, options);
  check_no_shapes(path, options);
  return import_pt2(path, options);
}

}  // namespace

Graph import_model(const std::string& path, const ImportOptions& options) {
  QUENCH_CHECK(!path.empty(), "the name of the model file is empty");
  check_no_folder(path);
  if (is_zip(path)) return import_zip(path, options);
  check_no_shapes(path, options);
  return import_onnx(path, options);
}

}  // namespace quench
