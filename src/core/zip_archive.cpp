#include "core/zip_archive.h"

#include <zip.h>

#include <filesystem>

#include "quench/error.h"

namespace quench {
namespace {

struct CloseZip {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

std::unique_ptr<zip_t, CloseZip> open_zip(const std::string& path) {
  int code = 0;
  std::unique_ptr<zip_t, CloseZip> archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (archive) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  fail("cannot read the zip archive '", path, "': ", reason);
}

}  // namespace

struct ZipArchive::State {
  std::unique_ptr<zip_t, CloseZip> archive;
  std::uint64_t file_size = 0;
};

ZipArchive::ZipArchive(const std::string& path) : state_(std::make_unique<State>()) {
  state_->archive = open_zip(path);
  state_->file_size = std::filesystem::file_size(path);
}

ZipArchive::~ZipArchive() = default;

std::vector<std::string> ZipArchive::names() const {
  std::vector<std::string> names;
  const zip_int64_t count = zip_get_num_entries(state_->archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* name = zip_get_name(state_->archive.get(), static_cast<zip_uint64_t>(i), 0);
    if (name) names.emplace_back(name);
  }
  return names;
}

bool ZipArchive::has(const std::string& name) const {
  return zip_name_locate(state_->archive.get(), name.c_str(), 0) >= 0;
}

std::uint64_t ZipArchive::size(const std::string& name) const {
  zip_stat_t stat;
  zip_stat_init(&stat);
  QUENCH_CHECK(zip_stat(state_->archive.get(), name.c_str(), 0, &stat) == 0, "the archive has no member '", name, "'");
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  QUENCH_CHECK((stat.valid & kNeeded) == kNeeded, "member '", name, "' of the archive has no size");
  QUENCH_CHECK(stat.comp_method == ZIP_CM_STORE, "member '", name,
               "' of the archive is compressed; torch.save stores its members uncompressed");
  QUENCH_CHECK(stat.size == stat.comp_size && stat.size <= state_->file_size, "member '", name, "' claims ", stat.size,
               " bytes; the whole file has ", state_->file_size);
  return stat.size;
}

void ZipArchive::read(const std::string& name, void* to, std::uint64_t count) const {
  QUENCH_CHECK(size(name) == count, "member '", name, "' of the archive has ", size(name), " bytes; ", count,
               " were expected");
  const std::unique_ptr<zip_file_t, CloseZip> file(zip_fopen(state_->archive.get(), name.c_str(), 0));
  QUENCH_CHECK(file, "cannot read member '", name, "': ", zip_strerror(state_->archive.get()));
  std::uint64_t done = 0;
  while (done < count) {
    const zip_int64_t got = zip_fread(file.get(), static_cast<char*>(to) + done, count - done);
    QUENCH_CHECK(got > 0, "member '", name,
                 "' is damaged: ", got == 0 ? "it ends too early" : zip_error_strerror(zip_file_get_error(file.get())));
    done += static_cast<std::uint64_t>(got);
  }
  // libzip compares the checksum when it meets the end.
  char beyond = 0;
  QUENCH_CHECK(zip_fread(file.get(), &beyond, 1) == 0, "member '", name,
               "' is damaged: ", zip_error_strerror(zip_file_get_error(file.get())));
}

std::uint64_t ZipArchive::file_size() const { return state_->file_size; }

std::uint64_t ZipArchive::unpacked_size() const {
  std::uint64_t total = 0;
  for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(zip_get_num_entries(state_->archive.get(), 0)); ++i) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    const bool known = zip_stat_index(state_->archive.get(), i, 0, &stat) == 0 && (stat.valid & ZIP_STAT_SIZE) != 0;
    QUENCH_CHECK(known && !__builtin_add_overflow(total, stat.size, &total), "a member of the archive has no size");
  }
  return total;
}

}  // namespace quench
