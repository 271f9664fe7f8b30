#include "report/file_hash.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

namespace quench {
namespace {

struct Folder {
  Folder() : path(fs::temp_directory_path() / ("quench_hash_" + std::to_string(::getpid()))) {
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
  fs::path path;
};

TEST(FileHash, IsWhatSha1sumPrints) {
  const Folder folder;
  const FileHash hash = hash_file(folder.write("a", "abc"));
  EXPECT_EQ(hash.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d");  // FIPS 180-2, appendix A.1
  EXPECT_TRUE(hash.of_bytes);
}

TEST(FileHash, OfAFolderSeesNamesAndSizes) {
  const Folder folder;
  folder.write("a", "abc");
  const FileHash before = hash_file(folder.path.string());
  EXPECT_FALSE(before.of_bytes);
  folder.write("b", "x");
  EXPECT_NE(hash_file(folder.path.string()).sha1, before.sha1);
}

TEST(FileHash, CoversTheLabelsOfADataSet) {
  const Folder folder;
  DatasetSpec spec{"idx", folder.write("images", "abc"), {{"labels", folder.write("labels", "x")}, {"norm", "mnist"}}};
  EXPECT_EQ(hash_data(spec).size(), 2U);
}

}  // namespace
}  // namespace quench
