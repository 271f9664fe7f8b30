// AtomicFile: a file written under a temporary name and renamed at the end, so that a crash, a full disk or an
// interrupt leaves no partial file and never harms an existing one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quench {

class AtomicFile {
 public:
  // Opens PATH.partial-PID-N in the same folder; throws when the folder is missing or not
  // writable. A link is followed.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();  // without commit(): nothing happened
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, std::size_t count);  // throws when the disk is full
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  // For libraries that write by name themselves: they may replace the file at this path before commit().
  const std::string& partial_path() const { return partial_; }
  // Everything on the disk under its own name. Once; nothing can be written afterwards.
  void commit();

 private:
  void close_file();

  std::string path_;
  std::string partial_;
  int file_ = -1;
  bool direct_ = false;  // a device or a pipe (/dev/null, /dev/stdout): written as it is, never replaced
  bool committed_ = false;
};

// The whole of a small file at once.
void write_file_atomically(const std::string& path, std::string_view bytes);

// Removes what killed processes left beside it, PATH.partial-PID-N: for one who alone writes this file.
void remove_left_partials(const std::string& path);

// Throws now what an AtomicFile would only throw after long work, and leaves nothing behind.
void check_writable(const std::string& path);

// A file, or a folder that is empty by then, that an interrupt should remove, until it is forgotten.
void remove_on_interrupt(const std::string& path);
void forget_on_interrupt(const std::string& path);

// For signal handlers: removes every partial file that is open now, and what remove_on_interrupt was told.
// Async-signal-safe.
void remove_partial_files() noexcept;

}  // namespace quench
