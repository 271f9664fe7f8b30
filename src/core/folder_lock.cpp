#include "core/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/atomic_file.h"
#include "quench/error.h"

namespace quench {
namespace {

// Another process may have removed the folder, and made it again, between opening and locking it.
bool is_still(int file, const std::string& folder) {
  struct stat opened{}, present{};
  return ::fstat(file, &opened) == 0 && ::stat(folder.c_str(), &present) == 0 && opened.st_ino == present.st_ino &&
         opened.st_dev == present.st_dev;
}

// Fails before hours of work, not after them.
int opened_folder(const std::string& folder) {
  QUENCH_CHECK(!std::filesystem::exists(folder) || std::filesystem::is_directory(folder), "'", folder,
               "' exists and is not a folder");
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  QUENCH_CHECK(!failed, "the folder '", folder, "' cannot be created: ", failed.message());
  const int file =
      ::access(folder.c_str(), W_OK) == 0 ? ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  QUENCH_CHECK(file >= 0, "cannot write into the folder '", folder, "': ", std::strerror(errno));
  return file;
}

}  // namespace

FolderLock::FolderLock(const std::string& folder) {
  namespace fs = std::filesystem;
  for (fs::path one(folder); !one.empty() && !fs::exists(one); one = one.parent_path()) made_.push_back(one.string());
  do {
    if (file_ >= 0) ::close(file_);
    file_ = opened_folder(folder);
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(file_);
      fail("another process is working in '", folder, "': wait for it, or choose another folder");
    }
  } while (!is_still(file_, folder));
  for (const std::string& made : made_) remove_on_interrupt(made);
}

// Removed first: who waits for the lock must not get it of a folder that is about to go.
FolderLock::~FolderLock() {
  for (const std::string& made : made_) {
    std::error_code has_contents;
    std::filesystem::remove(made, has_contents);
    forget_on_interrupt(made);
  }
  ::close(file_);
}

}  // namespace quench
