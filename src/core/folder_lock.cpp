#include "core/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "quench/error.h"

namespace quench {

FolderLock::FolderLock(const std::string& folder) : folder_(folder) {
  std::error_code failed;
  made_ = std::filesystem::create_directories(folder, failed);
  file_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file_ < 0 || ::flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(file_);
  fail("another process is working in '", folder, "': wait for it, or choose another folder");
}

FolderLock::~FolderLock() {
  if (file_ >= 0) ::close(file_);
  std::error_code ignored;
  if (made_ && std::filesystem::is_empty(folder_, ignored)) std::filesystem::remove(folder_, ignored);
}

}  // namespace quench
