// read_npz: an .npy file, or a zip of them.
#include <zip.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "data/npy.h"
#include "quench/error.h"
#include "quench/npz.h"

namespace quench {
namespace {

// Deflate cannot do better; a larger claim is a lie, and would cost memory to find out.
constexpr std::uint64_t kBestCompression = 1032;

struct ZipClose {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, ZipClose>;

Archive open_archive(const std::string& path) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (archive == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string text = zip_error_strerror(&error);
    zip_error_fini(&error);
    fail("not a valid zip file: ", text);
  }
  return archive;
}

RtValue read_entry(zip_t* archive, zip_uint64_t index, const zip_stat_t& stat) {
  constexpr auto kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
  QUENCH_CHECK((stat.valid & kNeeded) == kNeeded, "the zip does not say how large it is");
  QUENCH_CHECK(stat.size / kBestCompression <= stat.comp_size, "it claims to unpack from ", stat.comp_size,
               " bytes to ", stat.size, ", which no compression can do");
  const std::unique_ptr<zip_file_t, ZipClose> file(zip_fopen_index(archive, index, 0));
  QUENCH_CHECK(file != nullptr, "cannot unpack it: ", zip_strerror(archive));
  const auto read = [&](void* to, std::size_t count) {
    auto* at = static_cast<char*>(to);
    while (count > 0) {
      const zip_int64_t found = zip_fread(file.get(), at, count);
      QUENCH_CHECK(found >= 0, "cannot unpack it: ", zip_file_strerror(file.get()));
      QUENCH_CHECK(found > 0, "it is truncated");
      at += found;
      count -= static_cast<std::size_t>(found);
    }
  };
  RtValue value = read_npy(read, stat.size);
  char extra = 0;  // libzip compares the checksum when it meets the end
  const zip_int64_t rest = zip_fread(file.get(), &extra, 1);
  QUENCH_CHECK(rest == 0, "it is damaged: ", rest < 0 ? zip_file_strerror(file.get()) : "it has too many bytes");
  return value;
}

std::map<std::string, RtValue> read_zip(const std::string& path) {
  const Archive archive = open_archive(path);
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  std::map<std::string, RtValue> arrays;
  for (zip_int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    zip_stat_t stat;
    QUENCH_CHECK(zip_stat_index(archive.get(), index, 0, &stat) == 0 && (stat.valid & ZIP_STAT_NAME) != 0,
                 "cannot read entry ", i, " of the zip: ", zip_strerror(archive.get()));
    std::string name = stat.name;
    QUENCH_CHECK(name.ends_with(".npy"), "entry '", name,
                 "' of the zip is not an array: .npz files hold only .npy files");
    name.resize(name.size() - 4);
    RtValue value = with_context([&] { return concat("in its array '", name, "'"); },
                                 [&] { return read_entry(archive.get(), index, stat); });
    QUENCH_CHECK(arrays.emplace(name, std::move(value)).second, "it holds two arrays named '", name, "'");
  }
  return arrays;
}

std::map<std::string, RtValue> read_any(const std::string& path) {
  QUENCH_CHECK(std::filesystem::exists(path), "there is no such file");
  QUENCH_CHECK(!std::filesystem::is_directory(path), "it is a folder");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  QUENCH_CHECK(file != nullptr, "it cannot be opened: ", std::strerror(errno));
  char magic[4] = {};
  const std::size_t found = std::fread(magic, 1, sizeof magic, file.get());
  QUENCH_CHECK(found > 0, "it is empty");
  if (std::memcmp(magic, "PK", 2) == 0) return read_zip(path);
  QUENCH_CHECK(std::memcmp(magic, "\x93NUM", 4) == 0, "it is neither an .npy nor an .npz file");
  std::rewind(file.get());
  const auto read = [&](void* to, std::size_t count) {
    QUENCH_CHECK(std::fread(to, 1, count, file.get()) == count, "it is truncated");
  };
  return {{"array", read_npy(read, std::filesystem::file_size(path))}};
}

}  // namespace

std::map<std::string, RtValue> read_npz(const std::string& path) {
  return with_context([&] { return concat("while reading '", path, "'"); }, [&] { return read_any(path); });
}

}  // namespace quench
