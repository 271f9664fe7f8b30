#include "core/temporary_folder.h"

#include <cstdlib>
#include <filesystem>

#include "quench/error.h"

namespace quench {

std::string temporary_folder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  const char* given = std::getenv("TMPDIR");
  QUENCH_CHECK(!error, "there is no folder for temporary files", given ? concat(" '", given, "'") : std::string(), ": ",
               error.message(), " (TMPDIR names another)");
  return folder.string();
}

}  // namespace quench
