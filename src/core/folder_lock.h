// FolderLock: one process at a time works in a folder. The system releases it whatever becomes of the process.
#pragma once

#include <string>

namespace quench {

class FolderLock {
 public:
  // Creates the folder. Throws if another process has it; where the file system has no locks, there is none.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();  // a folder that it made and that is still empty is removed
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::string folder_;
  int file_ = -1;
  bool made_ = false;
};

}  // namespace quench
