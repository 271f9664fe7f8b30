// All files of a deployment, or none.
#include <algorithm>
#include <filesystem>

#include "core/atomic_file.h"
#include "core/output_folder.h"
#include "quench/deploy.h"
#include "quench/error.h"
#include "quench/export.h"

namespace quench {
namespace {

void write_one(const DeployFile& file, const std::string& path) {
  if (!file.is_model()) return write_file_atomically(path, file.text);
  ExportOptions options;
  options.opset = file.opset;
  export_onnx(file.model, path, options);
}

// Files of an earlier deployment go away with its folder's list, whatever they are called.
void check_folder(const Deployment& deployment, const std::string& folder, bool force) {
  const std::vector<std::string> own = own_files(folder);
  const auto in_the_way =
      std::find_if(own.begin(), own.end(), [](const std::string& file) { return file != kFileList; });
  QUENCH_CHECK(force || in_the_way == own.end(), "'", (std::filesystem::path(folder) / *in_the_way).string(),
               "' already exists; force replaces it, and all files of that deployment with it");
  for (const DeployFile& file : deployment.files) check_free(folder, file.name, force);
}

}  // namespace

void write_deployment(const Deployment& deployment, const std::string& folder, bool force) {
  check_folder(deployment, folder, force);
  OutputFolder target(folder);
  for (const DeployFile& file : deployment.files) write_one(file, target.staged(file.name));
  target.commit(force);
}

}  // namespace quench
