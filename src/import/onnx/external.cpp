#include "import/onnx/external.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "quench/error.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

bool lies_in(const fs::path& file, const fs::path& folder) {
  const auto [in_folder, in_file] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return in_folder == folder.end() && in_file != file.end();
}

}  // namespace

std::string ExternalData::resolve(const std::string& location) const {
  QUENCH_CHECK(!location.empty() && location.find('\0') == std::string::npos, "external data names no file");
  QUENCH_CHECK(!folder_.empty(), "the data lies in another file ('", location,
               "'), but the model was not read from a folder");
  const fs::path relative(location);
  const bool climbs = std::find(relative.begin(), relative.end(), fs::path("..")) != relative.end();
  QUENCH_CHECK(!relative.is_absolute() && !climbs, "external data '", location,
               "' is not inside the model's folder; use a relative path without '..'");
  std::error_code error;
  const fs::path folder = fs::canonical(folder_, error);
  QUENCH_CHECK(!error, "the model's folder '", folder_, "' cannot be read: ", error.message());
  const fs::path file = fs::canonical(folder / relative, error);
  QUENCH_CHECK(!error, "external data '", location, "' cannot be read: ", error.message(), " (looked in ",
               folder.string(), ")");
  QUENCH_CHECK(lies_in(file, folder), "external data '", location, "' is a link that leaves the model's folder");
  QUENCH_CHECK(fs::is_regular_file(file, error), "external data '", location, "' is not a plain file");
  return file.string();
}

void ExternalData::check(const Range& range) const {
  const auto size = static_cast<std::int64_t>(fs::file_size(resolve(range.location)));
  QUENCH_CHECK(range.offset >= 0 && range.offset <= size && range.bytes <= size - range.offset, "external data '",
               range.location, "' has ", size, " bytes; the model expects ", range.bytes, " from offset ",
               range.offset);
}

void ExternalData::read(const Range& range, void* to) const {
  std::ifstream file(resolve(range.location), std::ios::binary);
  file.seekg(range.offset);
  file.read(static_cast<char*>(to), range.bytes);
  QUENCH_CHECK(file && file.gcount() == range.bytes, "external data '", range.location,
               "' cannot be read: ", range.bytes, " bytes from offset ", range.offset, " expected");
}

}  // namespace quench
