#include "core/output_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>

#include "core/atomic_file.h"
#include "quench/error.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHead = "# quench files 1";
const std::string kStaging = ".quench-writing-";

// A path that stays inside the folder: anyone may have written a list.
bool is_inside(const fs::path& path) {
  return !path.empty() && path.is_relative() &&
         std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".." || part == "."; });
}

std::string list_of(const std::vector<std::string>& files) {
  std::string text = std::string(kHead) + "\n" + kFileList + "\n";
  for (const std::string& file : files)
    if (file != kFileList) text += file + "\n";
  return text;
}

std::vector<std::string> listed_in(const fs::path& folder) {
  std::ifstream in(folder / kFileList);
  std::string line;
  std::vector<std::string> files;
  if (!std::getline(in, line) || line != kHead) return files;
  while (std::getline(in, line))
    if (is_inside(line)) files.push_back(line);
  return files;
}

// Folders of processes that were killed.
std::vector<fs::path> abandoned_in(const fs::path& folder) {
  std::vector<fs::path> found;
  if (!fs::is_directory(folder)) return found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kStaging)) continue;
    const int pid = std::atoi(name.c_str() + kStaging.size());
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) found.push_back(entry.path());
  }
  return found;
}

std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (!entry.is_directory()) files.push_back(entry.path().lexically_relative(folder).string());
  std::sort(files.begin(), files.end());
  return files;
}

void move_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (!error) fs::rename(from, to, error);
  QUENCH_CHECK(!error, "cannot move '", from.string(), "' to '", to.string(), "': ", error.message());
}

// Renames that are undone unless all of them succeed.
class Moves {
 public:
  ~Moves() {
    if (kept_) return;
    for (auto move = done_.rbegin(); move != done_.rend(); ++move) {
      std::error_code ignored;
      fs::rename(move->second, move->first, ignored);
    }
  }
  void move(const fs::path& from, const fs::path& to) {
    move_file(from, to);
    done_.emplace_back(from, to);
  }
  void keep() { kept_ = true; }

 private:
  std::vector<std::pair<fs::path, fs::path>> done_;
  bool kept_ = false;
};

// Folders that only our files were in.
void remove_empty_folders(const fs::path& folder, const std::vector<std::string>& files) {
  std::error_code ignored;
  for (const std::string& file : files)
    for (fs::path below = fs::path(file).parent_path(); !below.empty(); below = below.parent_path())
      if (fs::is_empty(folder / below, ignored)) fs::remove(folder / below, ignored);
}

// A process was killed while it moved its files into place: the list of its files was written and did not arrive. All
// of them are here, and so are those that they replace, so the rest of the moves can be made.
void finish_moves(const fs::path& folder, const fs::path& staging) {
  const std::vector<std::string> fresh = listed_in(staging / "new");
  const std::vector<std::string> old = listed_in(staging / "before");
  for (const std::string& file : old)
    if (std::find(fresh.begin(), fresh.end(), file) == fresh.end() && fs::exists(folder / file))
      move_file(folder / file, staging / "old" / file);
  for (const std::string& file : fresh)
    if (file != kFileList && fs::exists(staging / "new" / file)) move_file(staging / "new" / file, folder / file);
  move_file(staging / "new" / kFileList, folder / kFileList);
  remove_empty_folders(folder, old);
}

void clear_abandoned(const fs::path& folder) {
  for (const fs::path& stale : abandoned_in(folder)) {
    if (fs::exists(stale / "new" / kFileList)) finish_moves(folder, stale);
    fs::remove_all(stale);
  }
}

}  // namespace

std::vector<std::string> own_files(const std::string& folder) {
  std::set<std::string> found;
  std::vector<fs::path> open = {""};
  while (!open.empty()) {
    const fs::path below = open.back();
    open.pop_back();
    for (const std::string& name : listed_in(fs::path(folder) / below)) {
      const fs::path file = below / name;
      std::error_code ignored;
      if (!fs::is_regular_file(fs::symlink_status(fs::path(folder) / file, ignored))) continue;
      const bool is_list = file.filename() == kFileList && file.parent_path() != below;
      if (found.insert(file.string()).second && is_list) open.push_back(file.parent_path());
    }
  }
  return {found.begin(), found.end()};
}

void check_free(const std::string& folder, const std::string& file, bool force) {
  clear_abandoned(folder);
  const fs::path path = fs::path(folder) / file;
  QUENCH_CHECK(!fs::is_directory(path), "'", path.string(), "' is a folder, but a file is to be written there");
  if (force || !fs::exists(path)) return;
  const std::vector<std::string> own = own_files(folder);
  QUENCH_CHECK(std::find(own.begin(), own.end(), file) != own.end(), "'", path.string(),
               "' already exists, and the folder's list does not name it as a file of ours; only force replaces it");
}

void write_own_file(const std::string& folder, const std::string& file, std::string_view bytes) {
  check_free(folder, file, /*force=*/false);
  std::vector<std::string> files = listed_in(folder);
  QUENCH_CHECK(!files.empty(), "'", folder, "' is not a folder of ours: it has no list of files");
  write_file_atomically((fs::path(folder) / file).string(), bytes);
  if (std::find(files.begin(), files.end(), file) != files.end()) return;
  files.push_back(file);
  std::sort(files.begin(), files.end());
  write_file_atomically((fs::path(folder) / kFileList).string(), list_of(files));
}

OutputFolder::OutputFolder(const std::string& path) : path_(path) {
  QUENCH_CHECK(!fs::exists(path_) || fs::is_directory(path_), "'", path, "' exists and is not a folder");
  std::error_code error;
  made_ = fs::create_directories(path_, error);
  QUENCH_CHECK(!error, "the folder '", path, "' cannot be created: ", error.message());
  staging_ = path_ / concat(kStaging, ::getpid());
  try {
    check_writable((path_ / "written").string());
    clear_abandoned(path_);
    fs::remove_all(staging_);  // of one of our own that failed
    fs::create_directory(staging_);
  } catch (...) {
    std::error_code ignored;
    if (made_) fs::remove(path_, ignored);
    throw;
  }
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  fs::remove_all(staging_, ignored);
  if (made_ && !committed_) fs::remove(path_, ignored);
}

std::string OutputFolder::staged(const std::string& name) const {
  const fs::path file = staging_ / "new" / name;
  fs::create_directories(file.parent_path());
  return file.string();
}

void OutputFolder::commit(bool force) {
  std::vector<std::string> fresh = files_below(staging_ / "new");
  for (const std::string& file : fresh) check_free(path_.string(), file, force);
  std::vector<std::string> old = own_files(path_.string());
  fs::create_directories(staging_ / "before");
  write_file_atomically((staging_ / "before" / kFileList).string(), list_of(old));
  write_file_atomically(staged(kFileList), list_of(fresh));  // from here on another process can finish this
  // Written last and removed first: a folder without a list is incomplete.
  std::stable_partition(old.begin(), old.end(), [](const std::string& file) { return file == kFileList; });
  fresh.emplace_back(kFileList);
  Moves moves;
  for (const std::string& file : old) moves.move(path_ / file, staging_ / "old" / file);
  for (const std::string& file : fresh) {
    if (fs::exists(path_ / file)) moves.move(path_ / file, staging_ / "old" / file);  // someone else's, by force
    moves.move(staging_ / "new" / file, path_ / file);
  }
  moves.keep();
  committed_ = true;
  remove_empty_folders(path_, old);
}

void OutputFolder::discard(const std::string& name) const {
  if (fs::exists(path_ / name)) move_file(path_ / name, staging_ / "discarded" / name);
}

}  // namespace quench
