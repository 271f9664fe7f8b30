// Small files made in the tests, and the real data where it is present.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "quench/error.h"
#include "support/message_of.h"

namespace quench {

// A folder that goes away with the test.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "quench-data-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw Error("no temporary folder");
    path_ = name;
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string path(const std::string& name = "") const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

inline std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string test_data(const std::string& name) {
  return std::string(std::getenv("QUENCH_TEST_DATA")) + "/" + name;
}

// "" where the real data is absent.
inline std::string real_data(const std::string& name) {
  const char* folder = std::getenv("QUENCH_DATA");
  const std::string path = (folder != nullptr ? folder : test_data("../../../shared/data")) + ("/" + name);
  return std::filesystem::exists(path) ? path : "";
}

}  // namespace quench

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)
#define SKIP_WITHOUT(path) \
  if ((path).empty()) GTEST_SKIP() << "the real data (QUENCH_DATA, or ../shared/data) is absent"
