// All files of a deployment, or none: written into a folder beside, moved into place at the end.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "core/atomic_file.h"
#include "quench/deploy.h"
#include "quench/error.h"
#include "quench/export.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

// Removed with all that is left in it.
class StagingFolder {
 public:
  explicit StagingFolder(const fs::path& target) : path_(target / concat(".deploying-", ::getpid())) {
    for (const fs::path& stale : abandoned(target)) fs::remove_all(stale);
    fs::create_directory(path_);
  }
  ~StagingFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  // Of processes that were killed.
  static std::vector<fs::path> abandoned(const fs::path& target) {
    const std::string prefix = ".deploying-";
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(target)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(prefix)) continue;
      const int pid = std::atoi(name.c_str() + prefix.size());
      if (pid == ::getpid() || (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH)) found.push_back(entry.path());
    }
    return found;
  }

  fs::path path_;
};

// Makes the folder; takes it away again where nothing came of it.
class TargetFolder {
 public:
  explicit TargetFolder(const fs::path& path) : path_(path) {
    QUENCH_CHECK(!fs::exists(path) || fs::is_directory(path), "'", path.string(), "' is there and is no folder");
    std::error_code error;
    made_ = fs::create_directories(path, error);
    QUENCH_CHECK(!error, "the folder '", path.string(), "' cannot be made: ", error.message());
    check_writable((path / "written").string());
  }
  ~TargetFolder() {
    std::error_code ignored;
    if (made_ && !kept_) fs::remove(path_, ignored);
  }
  TargetFolder(const TargetFolder&) = delete;
  TargetFolder& operator=(const TargetFolder&) = delete;
  void keep() { kept_ = true; }

 private:
  fs::path path_;
  bool made_ = false, kept_ = false;
};

void write_one(const DeployFile& file, const fs::path& path) {
  if (!file.is_model()) return write_file_atomically(path.string(), file.text);
  ExportOptions options;
  options.opset = file.opset;
  export_onnx(file.model, path.string(), options);
}

void check_free(const fs::path& path, bool force) {
  QUENCH_CHECK(!fs::is_directory(path), "'", path.string(), "' is a folder, where a file is to be written");
  QUENCH_CHECK(force || !fs::exists(path), "'", path.string(), "' is there already; it is replaced with --force only");
}

// Looks at all before it moves the first; a model may have brought a second file, with its tensors.
void move_all(const fs::path& from, const fs::path& to, bool force) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(from)) files.push_back(entry.path());
  for (const fs::path& file : files) check_free(to / file.filename(), force);
  for (const fs::path& file : files) fs::rename(file, to / file.filename());
}

}  // namespace

void write_deployment(const Deployment& deployment, const std::string& folder, bool force) {
  const fs::path target = folder;
  for (const DeployFile& file : deployment.files) check_free(target / file.name, force);
  TargetFolder made(target);
  const StagingFolder staging(target);
  for (const DeployFile& file : deployment.files) write_one(file, staging.path() / file.name);
  move_all(staging.path(), target, force);
  made.keep();
}

}  // namespace quench
