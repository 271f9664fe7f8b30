#include "core/folder_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cli/program.h"
#include "support/expect_error.h"

namespace quench {
namespace {

// A second lock of the same process stands for another process: both open the folder anew.
TEST(FolderLock, IsHadByOneAtATime) {
  const TemporaryFolder folder;
  const std::string path = folder.path("out/training");
  {
    const FolderLock first(path);
    EXPECT_ERROR(FolderLock second(path), "another process is working in '" + path + "'", "choose another folder");
  }
  const FolderLock next(path);
}

TEST(FolderLock, LeavesNoEmptyFolderBehind) {
  const TemporaryFolder folder;
  {
    const FolderLock lock(folder.path("new/empty"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path("new")));
  {
    const FolderLock lock(folder.path("used"));
    std::ofstream(folder.path("used/log")) << "1";
  }
  EXPECT_TRUE(std::filesystem::exists(folder.path("used/log")));
}

TEST(FolderLock, IsOfAFolderThatCanBeWrittenInto) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("file")) << "1";
  EXPECT_ERROR(FolderLock lock(folder.path("file")), "file' exists and is not a folder");
  EXPECT_ERROR(FolderLock lock(folder.path("file/out")), "file/out' cannot be created: Not a directory");
}

// Each one removes the folder when it ends and the next one makes it again: whoever has the lock has the folder.
TEST(FolderLock, IsNeverOfAFolderThatIsGone) {
  const TemporaryFolder folder;
  const std::string path = folder.path("out");
  std::atomic<int> had = 0, gone = 0;
  const auto contend = [&] {
    while (had < 2000) try {
        const FolderLock lock(path);
        ++had;
        std::error_code failed;
        gone += !std::filesystem::is_directory(path, failed);
      } catch (const Error&) {
        continue;  // the other one has it
      }
  };
  std::thread other(contend);
  contend();
  other.join();
  EXPECT_EQ(gone, 0);
}

}  // namespace
}  // namespace quench
