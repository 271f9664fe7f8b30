// The pictures of a folder and their classes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quench {

struct ImageFile {
  std::string path;
  std::string name;         // below the folder
  std::int64_t label = -1;  // -1: the folder has no class folders
};

struct ImageFiles {
  std::vector<ImageFile> files;      // by class, folder and name, in byte order
  std::vector<std::string> classes;  // names by label
};

// Each folder in `folder` is a class, in sorted order, with pictures at any depth; a folder of pictures
// alone has no classes. `class_list`, where not empty, is a text file with one class per line, in the order of
// the labels. Throws when there is no .jpg, .jpeg or .png at all.
ImageFiles find_image_files(const std::string& folder, const std::string& class_list);

}  // namespace quench
