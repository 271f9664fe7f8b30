// FolderLock: one process at a time works in a folder. The system releases it whatever becomes of the process.
#pragma once

#include <string>
#include <vector>

namespace quench {

class FolderLock {
 public:
  // Creates the folder, and those above it. Throws if another process has it; where the file system has no locks, there
  // is none.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();  // folders that it made and that are still empty are removed, on an interrupt too
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::vector<std::string> made_;  // from the inside out
  int file_ = -1;
};

}  // namespace quench
