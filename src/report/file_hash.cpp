#include "report/file_hash.h"

#include <c10/util/hash.h>

#include <algorithm>
#include <filesystem>

#include "data/read_file.h"
#include "quench/error.h"

namespace fs = std::filesystem;

namespace quench {
namespace {

// LibTorch's SHA-1 needs all bytes at once; beyond this a file counts by name and size, like those of a folder.
constexpr std::uintmax_t kLargestRead = std::uintmax_t{1} << 30;

std::string names_and_sizes(const fs::path& path) {
  std::vector<std::string> lines;
  const auto add = [&](const fs::path& file) {
    lines.push_back(concat(fs::relative(file, path.parent_path()).string(), " ", fs::file_size(file), "\n"));
  };
  if (!fs::is_directory(path)) add(path);
  if (fs::is_directory(path))
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file()) add(entry.path());
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace

FileHash hash_file(const std::string& path) {
  return with_context([&] { return "while hashing " + path; },
                      [&] {
                        const bool whole = fs::is_regular_file(path) && fs::file_size(path) <= kLargestRead;
                        if (!whole) return FileHash{path, c10::sha1(names_and_sizes(path)).str(), false};
                        const std::vector<std::uint8_t> bytes = read_file(path, kLargestRead);
                        return FileHash{path, c10::sha1(std::string(bytes.begin(), bytes.end())).str(), true};
                      });
}

std::vector<FileHash> hash_data(const DatasetSpec& spec) {
  std::vector<FileHash> hashes;
  if (fs::exists(spec.path)) hashes.push_back(hash_file(spec.path));
  for (const auto& [key, value] : spec.options)
    if (value.find('/') != std::string::npos && fs::is_regular_file(value)) hashes.push_back(hash_file(value));
  return hashes;
}

}  // namespace quench
