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

struct Contents {
  std::vector<fs::path> folders, pictures;
  std::vector<std::string> others;
};

// A link that leads nowhere is a broken picture where its name is a picture's. Where it is not it may have
// been a folder, whose absence would shift the labels or lose pictures unseen.
void add_entry(const fs::path& path, Contents& contents) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) {
    contents.folders.push_back(path);
  } else if (is_picture(path) && (fs::is_regular_file(status) || !fs::exists(status))) {
    contents.pictures.push_back(path);
  } else {
    QUENCH_CHECK(fs::exists(status), "the link '", path.string(), "' leads nowhere");
    contents.others.push_back(path.filename().string());
  }
}

Contents contents_of(const fs::path& folder) {
  Contents contents;
  std::error_code error;
  for (auto at = fs::directory_iterator(folder, error); !error && at != fs::directory_iterator(); at.increment(error))
    if (!is_hidden(at->path())) add_entry(at->path(), contents);
  QUENCH_CHECK(!error, "cannot look into the folder '", folder.string(), "': ", error.message());
  std::sort(contents.folders.begin(), contents.folders.end());
  std::sort(contents.pictures.begin(), contents.pictures.end());
  return contents;
}

// The folders that lie between the top and where the walk is, under their true names.
using Above = std::vector<fs::path>;

void add_pictures_below(const fs::path& folder, Above& above, std::vector<fs::path>& found) {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  QUENCH_CHECK(!error, "cannot look into the folder '", folder.string(), "': ", error.message());
  QUENCH_CHECK(std::find(above.begin(), above.end(), real) == above.end(), "the link '", folder.string(),
               "' leads back to a folder that it lies in, '", real.string(), "'");
  above.push_back(real);
  const Contents contents = contents_of(folder);
  found.insert(found.end(), contents.pictures.begin(), contents.pictures.end());
  for (const fs::path& below : contents.folders) add_pictures_below(below, above, found);
  above.pop_back();
}

// Folder by folder in sorted order, as a sorted os.walk gives them, which is torchvision's order.
std::vector<fs::path> pictures_below(const fs::path& folder, const fs::path& top) {
  std::vector<fs::path> found;
  Above above = {fs::canonical(top)};
  add_pictures_below(folder, above, found);
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    const auto key = [](const fs::path& path) {
      return std::pair(path.parent_path().string(), path.filename().string());
    };
    return key(a) < key(b);
  });
  return found;
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
  std::error_code error;  // what cannot be read does not exist for us
  const fs::file_status status = fs::status(folder, error);
  QUENCH_CHECK(fs::exists(status), "no folder '", folder, "'");
  QUENCH_CHECK(fs::is_directory(status), "'", folder, "' is not a folder");
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
    for (const fs::path& picture : pictures_below(path, folder)) add(picture, label->second);
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
