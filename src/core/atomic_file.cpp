#include "core/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "quench/error.h"

namespace quench {
namespace {

// Names of the partial files, where a signal handler can read them: fixed storage, no locks. A program
// has one or two open at a time; those beyond the slots are only left behind by an interrupt.
constexpr std::size_t kSlots = 16;
constexpr std::size_t kLongestPath = 4096;
struct Slot {
  std::atomic<int> state{0};  // 0 free, 1 being written, 2 holds a name
  std::array<char, kLongestPath> path{};
};
std::array<Slot, kSlots> slots;

std::string reason(int error, const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  std::error_code ignored;  // a folder that cannot be read is as good as none
  switch (error) {
    case ENOENT:
      if (std::filesystem::is_directory(folder, ignored)) return concat("no files can be created in '", folder, "'");
      return concat("the folder '", folder, "' does not exist");
    case ENOTDIR: return concat("'", folder, "' is not a folder");
    case EACCES: return concat("no permission to write in '", folder.empty() ? "." : folder, "'");
    case EROFS: return "the file system is read-only";
    case ENOSPC: return "the disk is full";
    case EFBIG: return "the file would be larger than the limit of this process or file system";
    case EDQUOT: return "the disk quota is used up";
    default: return std::strerror(error);
  }
}

constexpr const char* kPartial = ".partial-";

std::string fresh_partial_name(const std::string& path) {
  static std::atomic<int> counter{0};
  return concat(path, kPartial, ::getpid(), "-", counter++);
}

}  // namespace

void remove_on_interrupt(const std::string& path) {
  if (path.size() >= kLongestPath) return;
  for (Slot& slot : slots) {
    int free = 0;
    if (!slot.state.compare_exchange_strong(free, 1)) continue;
    std::memcpy(slot.path.data(), path.c_str(), path.size() + 1);
    slot.state = 2;
    return;
  }
}

void forget_on_interrupt(const std::string& path) {
  for (Slot& slot : slots) {
    if (slot.state == 2 && path == slot.path.data()) {
      slot.state = 0;
      return;
    }
  }
}

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  namespace fs = std::filesystem;
  QUENCH_CHECK(!path.empty(), "no name was given for the file to write");
  std::error_code ignored;  // a path that cannot be examined cannot be opened either
  const fs::file_status status = fs::status(path, ignored);
  QUENCH_CHECK(!fs::is_directory(status), "cannot write '", path, "': it is a folder");
  direct_ = fs::exists(status) && !fs::is_regular_file(status);
  if (fs::is_symlink(path, ignored) && !direct_) path_ = fs::weakly_canonical(path).string();
  partial_ = direct_ ? path_ : fresh_partial_name(path_);
  file_ = ::open(partial_.c_str(), O_WRONLY | O_CLOEXEC | (direct_ ? 0 : O_CREAT | O_EXCL), 0666);
  QUENCH_CHECK(file_ >= 0, "cannot write '", path, "': ", reason(errno, path));
  if (!direct_) remove_on_interrupt(partial_);
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) ::close(file_);
  if (direct_) return;
  if (!committed_) ::unlink(partial_.c_str());
  forget_on_interrupt(partial_);
}

void AtomicFile::write(const void* bytes, std::size_t count) {
  QUENCH_CHECK(file_ >= 0, "'", path_, "' is already closed");
  const char* at = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::write(file_, at, count);
    if (written < 0 && errno == EINTR) continue;
    QUENCH_CHECK(written >= 0, "cannot write '", path_, "': ", reason(errno, path_));
    at += written;
    count -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::close_file() {
  // A late failure (quota, network file systems) shows here, not in write().
  const bool synced = ::fsync(file_) == 0 || errno == EINVAL || errno == EROFS;
  const int error = errno;
  const bool closed = ::close(file_) == 0;
  file_ = -1;
  QUENCH_CHECK(synced && closed, "cannot write '", path_, "': ", reason(synced ? errno : error, path_));
}

void AtomicFile::commit() {
  QUENCH_CHECK(!committed_ && file_ >= 0, "'", path_, "' is already closed");
  close_file();
  QUENCH_CHECK(direct_ || ::rename(partial_.c_str(), path_.c_str()) == 0, "cannot write '", path_,
               "': ", reason(errno, path_));
  committed_ = true;
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void remove_left_partials(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(path).parent_path();
  const std::string beginning = fs::path(path).filename().string() + kPartial;
  std::error_code ignored;  // a folder that is not there holds none, and one that cannot be written keeps them
  for (fs::directory_iterator at(folder.empty() ? "." : folder, ignored), end; at != end; at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    const bool is_partial =
        name.starts_with(beginning) && name.find_first_not_of("0123456789-", beginning.size()) == std::string::npos;
    if (is_partial) fs::remove(at->path(), ignored);
  }
}

void check_writable(const std::string& path) {
  std::error_code ignored;  // what cannot be examined cannot be opened either
  const auto status = std::filesystem::status(path, ignored);
  const bool is_device = std::filesystem::is_other(status);
  // A pipe must not be opened twice: its reader takes the first end for the only one.
  if (!is_device) const AtomicFile trial(path);
  QUENCH_CHECK(!is_device || ::access(path.c_str(), W_OK) == 0, "cannot write '", path, "': ", std::strerror(errno));
}

void remove_partial_files() noexcept {
  for (Slot& slot : slots) {
    if (slot.state == 2) ::unlink(slot.path.data());
  }
  for (bool was_one_removed = true; was_one_removed;) {  // folders, empty by now; one may lie in another
    was_one_removed = false;
    for (Slot& slot : slots)
      if (slot.state == 2 && ::rmdir(slot.path.data()) == 0) was_one_removed = true;
  }
}

}  // namespace quench
