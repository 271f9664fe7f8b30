// coco: the boxes of COCO's instances JSON ("images", "annotations" with image_id, bbox, category_id, iscrowd, area),
// by the pictures' file names. Boxes are given as corners in the picture's own pixels.
#include <ATen/ATen.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "quench/targets.h"

namespace quench {
namespace {

using Json = nlohmann::json;

struct Annotation {
  std::array<double, 4> box;  // left, top, right, bottom
  double area = 0.0;
  std::int64_t category = 0;
  bool crowd = false;
};

const Json& list_in(const Json& json, const char* key) {
  QUENCH_CHECK(json.is_object() && json.contains(key) && json.at(key).is_array(), "the file has no list '", key,
               "'; COCO's instances JSON was expected");
  return json.at(key);
}

Annotation annotation_of(const Json& json) {
  const Json& box = json.at("bbox");
  QUENCH_CHECK(box.is_array() && box.size() == 4, "'bbox' is ", box.dump(), ", not [x, y, width, height]");
  Annotation one;
  const auto x = box[0].get<double>(), y = box[1].get<double>(), w = box[2].get<double>(), h = box[3].get<double>();
  one.box = {x, y, x + w, y + h};
  one.area = json.contains("area") ? json.at("area").get<double>() : w * h;
  one.category = json.at("category_id").get<std::int64_t>();
  one.crowd = json.contains("iscrowd") && json.at("iscrowd") != 0 && json.at("iscrowd") != false;
  return one;
}

Json read_json(const std::string& path) {
  std::ifstream file(path);
  QUENCH_CHECK(file.is_open(), "cannot read '", path, "'");
  try {
    return Json::parse(file);
  } catch (const Json::exception& error) {
    fail("'", path, "' is not JSON: ", error.what());
  }
}

class Coco : public Targets {
 public:
  explicit Coco(const std::string& path) : path_(path) {
    const Json json = read_json(path);
    try {
      read(json);
    } catch (const Json::exception& error) {
      fail("'", path, "' is not as COCO's instances JSON is: ", error.what());
    }
  }

  NamedValues get(std::int64_t, const Sample& sample) const override {
    auto found = images_.find(sample.name);
    if (found == images_.end()) found = images_.find(std::filesystem::path(sample.name).filename().string());
    QUENCH_CHECK(found != images_.end(), "the picture is not among the ", images_.size(), " images of '", path_, "'");
    const auto count = static_cast<std::int64_t>(found->second.size());
    at::Tensor boxes = at::empty({count, 4}, at::kDouble), areas = at::empty({count}, at::kDouble);
    at::Tensor labels = at::empty({count}, at::kLong), crowd = at::empty({count}, at::kBool);
    for (std::int64_t i = 0; i < count; ++i) {
      const Annotation& one = found->second[static_cast<std::size_t>(i)];
      std::copy(one.box.begin(), one.box.end(), boxes.mutable_data_ptr<double>() + 4 * i);
      areas.mutable_data_ptr<double>()[i] = one.area;
      labels.mutable_data_ptr<std::int64_t>()[i] = one.category;
      crowd.mutable_data_ptr<bool>()[i] = one.crowd;
    }
    return {{"boxes", boxes}, {"labels", labels}, {"areas", areas}, {"crowd", crowd}, {"categories", categories_}};
  }

 private:
  void read(const Json& json) {
    std::map<std::int64_t, std::string> names;
    for (const Json& image : list_in(json, "images")) {
      const auto name = image.at("file_name").get<std::string>();
      QUENCH_CHECK(images_.emplace(name, std::vector<Annotation>()).second, "the image '", name, "' is listed twice");
      names[image.at("id").get<std::int64_t>()] = name;
    }
    std::set<std::int64_t> categories;
    if (json.contains("categories"))
      for (const Json& one : list_in(json, "categories")) categories.insert(one.at("id").get<std::int64_t>());
    for (const Json& one : list_in(json, "annotations")) {
      const auto id = one.at("image_id").get<std::int64_t>();
      const auto name = names.find(id);
      QUENCH_CHECK(name != names.end(), "an annotation is of image ", id, ", which is not in 'images'");
      images_[name->second].push_back(annotation_of(one));
      categories.insert(images_[name->second].back().category);
    }
    categories_ = at::tensor(std::vector<std::int64_t>(categories.begin(), categories.end()), at::kLong);
  }

  std::string path_;
  at::Tensor categories_;                                  // ids, sorted: of the list, and of those that boxes have
  std::map<std::string, std::vector<Annotation>> images_;  // by file name, in order of the file
};

std::unique_ptr<Targets> open_coco(const std::string& path) { return std::make_unique<Coco>(path); }

}  // namespace

QUENCH_REGISTER_TARGETS("coco", open_coco, "the boxes of COCO's instances JSON, by the pictures' file names")

}  // namespace quench
