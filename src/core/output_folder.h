// OutputFolder: a folder of ours, rewritten completely or not at all. Files are written into a hidden folder inside it
// and moved into place at the end; then those of the previous run are gone, and everything that is not ours is
// untouched. A hidden list says what is ours.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace quench {

// The list: "# quench files 1", then one path per line, relative to the folder.
inline constexpr const char* kFileList = ".quench-files";

// The files that the lists in the folder name and that exist, as paths relative to it; subfolders included. Empty if
// the folder is not ours.
std::vector<std::string> own_files(const std::string& folder);

// Throws if the file exists and is not ours; with `force`, only if it is a folder. First finishes what a process that
// was killed while it moved its files had begun.
void check_free(const std::string& folder, const std::string& file, bool force);

// Writes one more file into a folder and lists it, so that the job that writes the folder next removes it with the
// others. Throws if the folder has no list, or if the file is there and not ours.
void write_own_file(const std::string& folder, const std::string& file, std::string_view bytes);

class OutputFolder {
 public:
  // Creates the folder; throws if that is impossible, or nothing can be written in it.
  explicit OutputFolder(const std::string& path);
  ~OutputFolder();  // without commit(): nothing happened
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Where to write a file that will become FOLDER/NAME; folders in the name are created.
  std::string staged(const std::string& name) const;
  // Moves everything into place; once. Throws if someone else's file is in the way, unless `force`.
  void commit(bool force);
  // Takes a file or a folder of ours that is in no list out of FOLDER, at once, however much is in it; it is removed
  // with this object.
  void discard(const std::string& name) const;

 private:
  std::filesystem::path path_, staging_;
  bool made_ = false, committed_ = false;
};

}  // namespace quench
