#include "data/image_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "quench/error.h"

namespace quench {
namespace fs = std::filesystem;
namespace {

bool is_picture(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

// Folder by folder in sorted order, as a sorted os.walk gives them, which is torchvision's order.
std::vector<fs::path> pictures_below(const fs::path& folder) {
  std::vector<fs::path> found;
  const auto options = fs::directory_options::follow_directory_symlink;
  for (auto at = fs::recursive_directory_iterator(folder, options); at != fs::recursive_directory_iterator(); ++at) {
    if (is_hidden(at->path()))
      at.disable_recursion_pending();
    else if (at->is_regular_file() && is_picture(at->path()))
      found.push_back(at->path());
  }
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    const auto key = [](const fs::path& path) {
      return std::pair(path.parent_path().string(), path.filename().string());
    };
    return key(a) < key(b);
  });
  return found;
}

struct Contents {
  std::vector<fs::path> folders, pictures;
  std::vector<std::string> others;
};

Contents contents_of(const fs::path& folder) {
  Contents contents;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (is_hidden(entry.path())) continue;
    if (entry.is_directory()) {
      contents.folders.push_back(entry.path());
    } else if (is_picture(entry.path())) {
      contents.pictures.push_back(entry.path());
    } else {
      contents.others.push_back(entry.path().filename().string());
    }
  }
  std::sort(contents.folders.begin(), contents.folders.end());
  std::sort(contents.pictures.begin(), contents.pictures.end());
  return contents;
}

// A line is "NAME ...", or "INDEX NAME ..." with the lines in order.
std::vector<std::string> read_classes(const std::string& path) {
  std::ifstream file(path);
  QUENCH_CHECK(file.is_open(), "cannot read the list of classes '", path, "'");
  std::vector<std::string> classes;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first, second;
    words >> first >> second;
    if (first.empty()) continue;
    classes.push_back(first == std::to_string(classes.size()) && !second.empty() ? second : first);
  }
  QUENCH_CHECK(!classes.empty(), "the list of classes '", path, "' is empty");
  return classes;
}

std::map<std::string, std::int64_t> labels_of(const std::vector<std::string>& classes, const std::string& list) {
  std::map<std::string, std::int64_t> labels;
  for (const std::string& name : classes) {
    QUENCH_CHECK(labels.emplace(name, labels.size()).second, "the list of classes '", list, "' names '", name,
                 "' twice");
  }
  return labels;
}

}  // namespace

ImageFiles find_image_files(const std::string& folder, const std::string& class_list) {
  QUENCH_CHECK(fs::exists(folder), "no folder '", folder, "'");
  QUENCH_CHECK(fs::is_directory(folder), "'", folder, "' is not a folder");
  const Contents contents = contents_of(folder);
  ImageFiles result;
  const auto add = [&](const fs::path& path, std::int64_t label) {
    result.files.push_back({path.string(), path.lexically_relative(folder).string(), label});
  };
  for (const fs::path& path : contents.folders) result.classes.push_back(path.filename().string());
  if (!class_list.empty()) result.classes = read_classes(class_list);
  const auto labels = labels_of(result.classes, class_list);
  for (const fs::path& path : contents.folders) {
    const std::string name = path.filename().string();
    const auto label = labels.find(name);
    QUENCH_CHECK(label != labels.end(), "the folder '", name, "' is not in the list of classes '", class_list, "'");
    for (const fs::path& picture : pictures_below(path)) add(picture, label->second);
  }
  QUENCH_CHECK(result.files.empty() || contents.pictures.empty(), "'", folder,
               "' has class folders with pictures, but also pictures beside them, such as ",
               contents.pictures.empty() ? fs::path() : contents.pictures[0].filename(), "; which class are those?");
  if (result.files.empty()) result.classes.clear();
  for (const fs::path& picture : contents.pictures) add(picture, -1);
  QUENCH_CHECK(!result.files.empty(), "'", folder, "' holds no .jpg, .jpeg or .png files",
               contents.others.empty() ? "" : concat("; it holds others, such as '", contents.others[0], "'"));
  return result;
}

}  // namespace quench
