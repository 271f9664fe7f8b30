#include "core/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "core/atomic_file.h"
#include "quench/error.h"

namespace quench {

FolderLock::FolderLock(const std::string& folder) {
  namespace fs = std::filesystem;
  for (fs::path one(folder); !one.empty() && !fs::exists(one); one = one.parent_path()) made_.push_back(one.string());
  std::error_code failed;
  fs::create_directories(folder, failed);
  for (const std::string& made : made_) remove_on_interrupt(made);
  file_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file_ < 0 || ::flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(file_);
  fail("another process is working in '", folder, "': wait for it, or choose another folder");
}

FolderLock::~FolderLock() {
  if (file_ >= 0) ::close(file_);
  for (const std::string& made : made_) {
    std::error_code has_contents;
    std::filesystem::remove(made, has_contents);
    forget_on_interrupt(made);
  }
}

}  // namespace quench
