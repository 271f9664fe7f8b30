#include "core/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "quench/error.h"
#include "support/expect_error.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public testing::Test {
 protected:
  AtomicFileTest() : folder_(fs::temp_directory_path() / ("quench_atomic_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~AtomicFileTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }

  static std::string message_of(const std::string& path) {
    try {
      AtomicFile file(path);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder_;
};

TEST_F(AtomicFileTest, AppearsOnlyAtCommit) {
  AtomicFile file(path("a"));
  file.write("hello");
  EXPECT_FALSE(fs::exists(path("a")));
  file.commit();
  EXPECT_EQ(read(path("a")), "hello");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, WhatKilledProcessesLeftIsRemoved) {
  for (const char* name : {"a", "a.partial-22489-25", "a.partial-1-0", "a.partial-notes", "b.partial-1-0"})
    write_file_atomically(path(name), "x");
  remove_left_partials(path("a"));
  EXPECT_EQ(files(), 3);
  for (const char* name : {"a", "a.partial-notes", "b.partial-1-0"}) EXPECT_TRUE(fs::exists(path(name))) << name;
  remove_left_partials(path("none/a"));
}

TEST_F(AtomicFileTest, LeavesAnExistingFileAloneWithoutCommit) {
  write_file_atomically(path("a"), "old");
  {
    AtomicFile file(path("a"));
    file.write("new");
  }
  EXPECT_EQ(read(path("a")), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, ReplacesAnExistingFile) {
  write_file_atomically(path("a"), "old and long");
  write_file_atomically(path("a"), "new");
  EXPECT_EQ(read(path("a")), "new");
}

TEST_F(AtomicFileTest, TwoOfOneNameDoNotMeet) {
  AtomicFile first(path("a")), second(path("a"));
  first.write("1");
  second.write("2");
  second.commit();
  first.commit();
  EXPECT_EQ(read(path("a")), "1");
}

TEST_F(AtomicFileTest, SaysWhatIsWrong) {
  EXPECT_EQ(message_of(path("no/where")),
            "cannot write '" + path("no/where") + "': the folder '" + path("no") + "' does not exist");
  EXPECT_EQ(message_of(folder_.string()), "cannot write '" + folder_.string() + "': it is a folder");
  EXPECT_EQ(message_of(""), "no name was given for the file to write");
  write_file_atomically(path("plain"), "");
  EXPECT_EQ(message_of(path("plain/b")),
            "cannot write '" + path("plain/b") + "': '" + path("plain") + "' is not a folder");
  if (::getuid() != 0) {
    ::chmod(folder_.c_str(), 0500);
    EXPECT_EQ(message_of(path("b")),
              "cannot write '" + path("b") + "': no permission to write in '" + folder_.string() + "'");
    ::chmod(folder_.c_str(), 0700);
  }
}

TEST_F(AtomicFileTest, SaysBeforehandWhetherAFileCanBeWritten) {
  check_writable(path("new"));
  write_file_atomically(path("old"), "old");
  check_writable(path("old"));
  EXPECT_EQ(read(path("old")), "old");
  EXPECT_EQ(files(), 1);
  check_writable("/dev/null");
  EXPECT_EQ(message_of("/proc/new"), "cannot write '/proc/new': no files can be created in '/proc'");
  for (const std::string& bad : {path("no/where"), folder_.string(), path("old/file"), std::string("/proc/version")}) {
    std::string message;
    try {
      check_writable(bad);
    } catch (const Error& error) {
      message = error.what();
    }
    EXPECT_EQ(message, message_of(bad));
    EXPECT_NE(message, "");
  }
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, DoesNotOpenAPipeToSeeWhetherItCanBeWritten) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  check_writable(path("pipe"));  // opening it would wait for a reader
}

TEST_F(AtomicFileTest, NamesAFullDisk) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  AtomicFile file("/dev/full");
  try {
    file.write("x");
    FAIL() << "a full disk took a byte";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "cannot write '/dev/full': the disk is full");
  }
}

TEST_F(AtomicFileTest, WritesADeviceWithoutReplacingIt) {
  write_file_atomically("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(AtomicFileTest, FollowsALink) {
  write_file_atomically(path("target"), "old");
  fs::create_symlink(path("target"), path("link"));
  write_file_atomically(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read(path("target")), "new");
}

TEST_F(AtomicFileTest, AnInterruptRemovesPartialFiles) {
  AtomicFile file(path("a"));
  file.write("half");
  EXPECT_EQ(files(), 1);
  remove_partial_files();
  EXPECT_EQ(files(), 0);
}

TEST_F(AtomicFileTest, WritesOnceOnly) {
  AtomicFile file(path("a"));
  file.commit();
  EXPECT_ERROR(file.write("more"), "/a' is already closed");
  EXPECT_ERROR(file.commit(), "/a' is already closed");
}

}  // namespace
}  // namespace quench
