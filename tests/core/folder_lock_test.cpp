#include "core/folder_lock.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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

}  // namespace
}  // namespace quench
