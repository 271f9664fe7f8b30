// Bytes under a path, for readers that take one; nothing is written to a disk.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "fuzz/target.h"

namespace quench {

class MemoryFile {
 public:
  explicit MemoryFile(const Bytes& bytes) : file_(memfd_create("quench", 0)) {
    QUENCH_CHECK(file_ >= 0, "no file in memory can be made");
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t count = ::write(file_, bytes.data() + done, bytes.size() - done);
      if (count <= 0) break;
      done += static_cast<std::size_t>(count);
    }
    path_ = concat("/proc/self/fd/", file_);
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  int file_;
  std::string path_;
};

}  // namespace quench
