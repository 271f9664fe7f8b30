#include "data/read_file.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "quench/error.h"

namespace quench {
namespace {

void check_readable(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  QUENCH_CHECK(std::filesystem::exists(status) || !std::filesystem::is_symlink(path, error), "'", path,
               "' is a link that leads nowhere");
  QUENCH_CHECK(std::filesystem::exists(status), "no file '", path, "'");
  QUENCH_CHECK(!std::filesystem::is_directory(status), "'", path, "' is a folder, not a file");
}

}  // namespace

std::vector<std::uint8_t> read_file(const std::string& path, std::uintmax_t limit) {
  check_readable(path);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  QUENCH_CHECK(file != nullptr, "cannot read '", path, "': ", std::strerror(errno));
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  QUENCH_CHECK(!error, "cannot read '", path, "': ", error.message());
  QUENCH_CHECK(size > 0, "'", path, "' is empty");
  QUENCH_CHECK(size <= limit, "'", path, "' has ", size, " bytes, more than the limit of ", limit);
  std::vector<std::uint8_t> bytes(size);
  const std::size_t found = std::fread(bytes.data(), 1, bytes.size(), file.get());
  QUENCH_CHECK(found == bytes.size(), "cannot read '", path, "': ", found, " of ", size, " bytes came");
  return bytes;
}

GzipFile::GzipFile(const std::string& path) : path_(path) {
  check_readable(path);
  file_ = gzopen(path.c_str(), "rb");
  QUENCH_CHECK(file_ != nullptr, "cannot read '", path, "': ", std::strerror(errno));
}

GzipFile::~GzipFile() { gzclose(static_cast<gzFile>(file_)); }

std::size_t GzipFile::read_some(std::uint8_t* to, std::size_t count) {
  const auto file = static_cast<gzFile>(file_);
  const int found = gzread(file, to, static_cast<unsigned>(count));
  int code = Z_OK;
  const char* text = gzerror(file, &code);
  QUENCH_CHECK(code != Z_BUF_ERROR, "'", path_, "' is truncated: its gzip data ends early");
  QUENCH_CHECK(found >= 0 && code == Z_OK, "'", path_, "' is not a valid gzip file: ", text);
  return static_cast<std::size_t>(found);
}

std::vector<std::uint8_t> GzipFile::read(std::size_t count) {
  constexpr std::size_t kStep = std::size_t{1} << 20;
  std::vector<std::uint8_t> bytes;
  while (bytes.size() < count) {
    const std::size_t have = bytes.size();
    bytes.resize(have + std::min(kStep, count - have));
    const std::size_t found = read_some(bytes.data() + have, bytes.size() - have);
    QUENCH_CHECK(have + found == bytes.size(), "'", path_, "' is truncated: ", count, " bytes were expected, ",
                 have + found, " are there");
  }
  return bytes;
}

void GzipFile::expect_end() {
  std::uint8_t extra = 0;
  QUENCH_CHECK(read_some(&extra, 1) == 0, "'", path_, "' holds more bytes than its header says");
}

}  // namespace quench
