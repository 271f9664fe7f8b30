// OutputFolder: a folder of ours, made anew, whole or not at all. Files are written into a hidden folder inside of it
// and moved to their places at the end; then those of the run before are gone, and all that is not ours is where it
// was. A hidden list says what is ours.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace quench {

// The list: "# quench files 1", then a path each, relative to the folder.
inline constexpr const char* kFileList = ".quench-files";

// What the lists in the folder name and what is there, as paths relative to it; those of folders below included. Empty
// where the folder is none of ours.
std::vector<std::string> own_files(const std::string& folder);

// Throws where the file is there and none of ours; `force`: only where it is a folder.
void check_free(const std::string& folder, const std::string& file, bool force);

class OutputFolder {
 public:
  // Makes the folder; throws where that cannot be done, or nothing can be written in it.
  explicit OutputFolder(const std::string& path);
  ~OutputFolder();  // without commit(): nothing happened
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Where to write a file that is to become FOLDER/NAME; folders in the name are made.
  std::string staged(const std::string& name) const;
  // Everything in its place; once. Throws where a file of someone else is in the way, unless `force`.
  void commit(bool force);

 private:
  std::filesystem::path path_, staging_;
  bool made_ = false, committed_ = false;
};

}  // namespace quench
