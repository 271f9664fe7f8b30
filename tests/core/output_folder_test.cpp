#include "core/output_folder.h"

#include <gtest/gtest.h>

#include <fstream>

#include "cli/program.h"
#include "quench/error.h"
#include "support/expect_error.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

class OutputFolders : public testing::Test {
 protected:
  std::string path() const { return folder_.path("out"); }
  std::string path(const std::string& name) const { return path() + "/" + name; }
  static void write(const std::string& file, const std::string& text) {
    fs::create_directories(fs::path(file).parent_path());
    std::ofstream(file) << text;
  }
  // Writes these files, each with its own name in it.
  void make(const std::vector<std::string>& files, bool force = false) const {
    OutputFolder folder(path());
    for (const std::string& file : files) write(folder.staged(file), file);
    folder.commit(force);
  }
  // All files but the list.
  std::vector<std::string> contents() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(path()))
      if (!entry.is_directory() && entry.path().filename() != kFileList)
        files.push_back(entry.path().lexically_relative(path()).string());
    std::sort(files.begin(), files.end());
    return files;
  }
  TemporaryFolder folder_;
};

using Files = std::vector<std::string>;

TEST_F(OutputFolders, AreMadeAnewAndLeaveWhatIsNotTheirs) {
  make({"a", "deploy/b", "deploy/c"});
  EXPECT_EQ(contents(), (Files{"a", "deploy/b", "deploy/c"}));
  write(path("mine"), "mine");
  write(path("deploy/mine"), "mine");
  make({"a", "deploy/d"});
  EXPECT_EQ(contents(), (Files{"a", "deploy/d", "deploy/mine", "mine"}));
  EXPECT_EQ(read_text(path("mine")), "mine");
  make({"e"});
  EXPECT_EQ(contents(), (Files{"deploy/mine", "e", "mine"}));
}

TEST_F(OutputFolders, LeaveNoEmptyFolders) {
  make({"deploy/b"});
  make({"a"});
  EXPECT_FALSE(fs::exists(path("deploy")));
}

TEST_F(OutputFolders, WithoutCommitNothingHappened) {
  make({"a"});
  {
    const OutputFolder folder(path());
    write(folder.staged("b"), "b");
  }
  EXPECT_EQ(contents(), Files{"a"});
  const std::string other = folder_.path("other");
  {
    const OutputFolder folder(other);
  }
  EXPECT_FALSE(fs::exists(other));
}

TEST_F(OutputFolders, AForeignFileInTheWayIsKept) {
  make({"a"});
  write(path("b"), "mine");
  try {
    make({"b", "c"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("/out/b' already exists"), std::string::npos) << error.message();
  }
  EXPECT_EQ(contents(), (Files{"a", "b"}));
  EXPECT_EQ(read_text(path("b")), "mine");
  make({"b", "c"}, true);
  EXPECT_EQ(contents(), (Files{"b", "c"}));
  EXPECT_EQ(read_text(path("b")), "b");
}

// A file cannot take the place of a folder: what was moved by then goes back.
TEST_F(OutputFolders, AreWholeOrNotAtAll) {
  make({"a", "z"});
  OutputFolder folder(path());
  write(folder.staged("a"), "new");
  write(folder.staged("m/n"), "new");
  write(path("m"), "mine");  // where a folder is to be
  EXPECT_ERROR(folder.commit(true), "cannot move", "/out/m/n'", "Not a directory");
  EXPECT_EQ(contents().size(), 5U) << "a, m, z, and what is staged";
  EXPECT_EQ(read_text(path("a")), "a");
  EXPECT_EQ(read_text(path("z")), "z");
  EXPECT_EQ(own_files(path()), (Files{kFileList, "a", "z"}));
}

TEST_F(OutputFolders, OfAFolderInsideAreKnownByItsOwnList) {
  {
    OutputFolder folder(path());
    OutputFolder inner(folder.staged("deploy"));
    write(inner.staged("b"), "b");
    inner.commit(false);
    folder.commit(false);
  }
  {
    OutputFolder inner(path("deploy"));
    write(inner.staged("c"), "c");
    inner.commit(false);
  }
  EXPECT_EQ(contents(), Files{"deploy/c"});
  make({"a"});
  EXPECT_EQ(contents(), Files{"a"});
}

// A process was killed between its first and its last move: the next one finishes them, and finds a whole folder.
TEST_F(OutputFolders, FinishWhatAKilledProcessBegan) {
  const std::string staging = ".quench-writing-999999999/";  // beyond any process
  for (const int moved : {0, 1, 2, 3}) {
    SCOPED_TRACE(moved);
    fs::remove_all(path());
    make({"a", "b"});
    write(path("mine"), "mine");
    // Old: a, b. New: b, deploy/c. The list goes first, then the old ones, then the new ones, their list last.
    write(path(staging + "before/" + kFileList), std::string("# quench files 1\n") + kFileList + "\na\nb\n");
    write(path(staging + "new/b"), "new");
    write(path(staging + "new/deploy/c"), "new");
    write(path(staging + "new/" + kFileList), std::string("# quench files 1\n") + kFileList + "\nb\ndeploy/c\n");
    const auto move = [&](const std::string& from, const std::string& to) {
      fs::create_directories(fs::path(path(to)).parent_path());
      fs::rename(path(from), path(to));
    };
    if (moved > 0) move(kFileList, staging + "old/" + kFileList);
    if (moved > 1) move("a", staging + "old/a");
    if (moved > 1) move("b", staging + "old/b");
    if (moved > 2) move(staging + "new/b", "b");
    check_free(path(), "b", false);  // ours, though the list was not in place
    EXPECT_EQ(contents(), (Files{"b", "deploy/c", "mine"}));
    EXPECT_EQ(read_text(path("b")), "new");
    EXPECT_EQ(own_files(path()), (Files{kFileList, "b", "deploy/c"}));
  }
}

TEST_F(OutputFolders, AListCannotNameWhatLiesOutside) {
  make({"a"});
  write(folder_.path("precious"), "mine");
  write(path(kFileList), "# quench files 1\n../precious\n" + folder_.path("precious") + "\na\n");
  make({"b"});
  EXPECT_EQ(read_text(folder_.path("precious")), "mine");
  EXPECT_EQ(contents(), Files{"b"});
}

TEST_F(OutputFolders, OneMoreFileGoesWithTheOthers) {
  make({"a"});
  write_own_file(path(), "later", "text");
  write_own_file(path(), "later", "other text");
  EXPECT_EQ(own_files(path()), (std::vector<std::string>{kFileList, "a", "later"}));
  EXPECT_EQ(read_text(path("later")), "other text");
  make({"b"});
  EXPECT_EQ(contents(), std::vector<std::string>{"b"});
}

TEST_F(OutputFolders, DiscardAtOnceWhatIsInNoList) {
  write(path("units/one"), "mine");
  {
    OutputFolder folder(path());
    write(folder.staged("a"), "a");
    folder.commit(false);
    folder.discard("units");
    folder.discard("absent");
    EXPECT_FALSE(fs::exists(path("units")));
  }
  EXPECT_EQ(contents(), Files{"a"});
}

TEST_F(OutputFolders, OneMoreFileReplacesNobodyElses) {
  make({"a"});
  write(path("mine"), "mine");
  EXPECT_ERROR(write_own_file(path(), "mine", "text"), "does not name it as a file of ours");
  EXPECT_EQ(read_text(path("mine")), "mine");
  EXPECT_ERROR(write_own_file(folder_.path("."), "later", "text"), "is not a folder of ours");
}

}  // namespace
}  // namespace quench
