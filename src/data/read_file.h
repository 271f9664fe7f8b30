// Whole files into memory, with a bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quench {

// Throws, naming the file, when it is missing, a folder, empty, unreadable or larger than `limit` bytes.
std::vector<std::uint8_t> read_file(const std::string& path, std::uintmax_t limit);

// A gzip'd or plain file, unpacked piece by piece, so that memory use follows what is really there.
class GzipFile {
 public:
  explicit GzipFile(const std::string& path);
  ~GzipFile();
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  std::vector<std::uint8_t> read(std::size_t count);  // throws when there are fewer
  void expect_end();                                  // throws when there are more, or the checksum is wrong

 private:
  std::size_t read_some(std::uint8_t* to, std::size_t count);

  std::string path_;
  void* file_ = nullptr;  // gzFile
};

}  // namespace quench
