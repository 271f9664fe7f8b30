// A folder that is removed with all its contents.
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "core/atomic_file.h"
#include "core/temporary_folder.h"
#include "quench/error.h"

namespace quench {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = temporary_folder() + "/quench_verify_XXXXXX";
    QUENCH_CHECK(::mkdtemp(pattern.data()) != nullptr, "cannot create a folder '", pattern,
                 "': ", std::strerror(errno));
    path_ = pattern;
    remove_on_interrupt(pattern);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    for (const std::string& file : files_) forget_on_interrupt(file);
    forget_on_interrupt(path_.string());
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  // The path of a file in it, which an interrupt removes too.
  std::string file(const std::string& name) {
    const std::string path = (path_ / name).string();
    if (std::find(files_.begin(), files_.end(), path) == files_.end()) {
      files_.push_back(path);
      remove_on_interrupt(path);
    }
    return path;
  }

 private:
  std::filesystem::path path_;
  std::vector<std::string> files_;
};

}  // namespace quench
