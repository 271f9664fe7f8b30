// coco: the boxes of COCO's instances JSON ("images", "annotations" with image_id, bbox, category_id, iscrowd, area),
// by the pictures' file names. Boxes are given as corners in the picture's own pixels.
#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
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

// Pictures by their ids: where their boxes go, and how large the file says they are (0: it does not).
struct Picture {
  std::string file;
  std::int64_t width = 0, height = 0;
  std::vector<Annotation> boxes;  // in order of the file
};

const Json& list_in(const Json& json, const char* key) {
  QUENCH_CHECK(json.is_object() && json.contains(key) && json.at(key).is_array(), "the file has no list '", key,
               "'; COCO's instances JSON was expected");
  return json.at(key);
}

// What stands there, short enough for a message.
std::string shown(const Json& json) {
  constexpr std::size_t kMost = 60;
  const std::string text = json.dump();
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

const Json& member(const Json& json, const char* key) {
  QUENCH_CHECK(json.is_object() && json.contains(key), "it has no '", key, "': ", shown(json));
  return json.at(key);
}

std::int64_t whole_in(const Json& json, const char* key) {
  const Json& number = member(json, key);
  QUENCH_CHECK(number.is_number_integer(), "'", key, "' is ", shown(number), ", not a whole number");
  return number.get<std::int64_t>();
}

std::array<double, 4> corners_in(const Json& json) {
  const Json& box = member(json, "bbox");
  const bool is_box = box.is_array() && box.size() == 4 &&
                      std::all_of(box.begin(), box.end(), [](const Json& one) { return one.is_number(); });
  QUENCH_CHECK(is_box, "'bbox' is ", shown(box), ", not [x, y, width, height]");
  const auto x = box[0].get<double>(), y = box[1].get<double>(), w = box[2].get<double>(), h = box[3].get<double>();
  QUENCH_CHECK(w >= 0 && h >= 0, "'bbox' is ", shown(box),
               ": width and height, the last two of [x, y, width, height], must not be negative");
  return {x, y, x + w, y + h};
}

Annotation annotation_of(const Json& json) {
  Annotation one;
  one.box = corners_in(json);
  one.area = (one.box[2] - one.box[0]) * (one.box[3] - one.box[1]);
  if (json.contains("area")) {
    const Json& area = json.at("area");
    QUENCH_CHECK(area.is_number() && area.get<double>() >= 0, "'area' is ", shown(area), ", not a number of pixels");
    one.area = area.get<double>();
  }
  one.category = whole_in(json, "category_id");
  one.crowd = json.contains("iscrowd") && json.at("iscrowd") != 0 && json.at("iscrowd") != false;
  return one;
}

// "annotation 17", or where it is in its list if it has no id.
std::string name_of(const char* what, const Json& json, std::size_t place) {
  if (json.is_object() && json.contains("id")) return concat(what, " ", shown(json.at("id")));
  return concat(what, " number ", place + 1, " of the list, which has no 'id'");
}

Json read_json(const std::string& path) {
  QUENCH_CHECK(!std::filesystem::is_directory(path), "'", path,
               "' is a folder; the JSON file of annotations was expected");
  std::ifstream file(path);
  QUENCH_CHECK(file.is_open(), "cannot read '", path, "'");
  try {
    return Json::parse(file);
  } catch (const Json::parse_error& error) {
    fail("'", path, "' is not JSON: it cannot be read from byte ", error.byte, " on");
  }
}

class Coco : public Targets {
 public:
  explicit Coco(const std::string& path) : path_(path) {
    const Json json = read_json(path);
    with_context([&] { return concat("in '", path, "'"); },
                 [&] {
                   read_pictures(list_in(json, "images"));
                   read_annotations(json);
                 });
  }

  NamedValues get(std::int64_t, const Sample& sample) const override {
    const Picture& picture = picture_of(sample);
    const auto count = static_cast<std::int64_t>(picture.boxes.size());
    at::Tensor boxes = at::empty({count, 4}, at::kDouble), areas = at::empty({count}, at::kDouble);
    at::Tensor labels = at::empty({count}, at::kLong), crowd = at::empty({count}, at::kBool);
    for (std::int64_t i = 0; i < count; ++i) {
      const Annotation& one = picture.boxes[static_cast<std::size_t>(i)];
      std::copy(one.box.begin(), one.box.end(), boxes.mutable_data_ptr<double>() + 4 * i);
      areas.mutable_data_ptr<double>()[i] = one.area;
      labels.mutable_data_ptr<std::int64_t>()[i] = one.category;
      crowd.mutable_data_ptr<bool>()[i] = one.crowd;
    }
    return {{"boxes", boxes}, {"labels", labels}, {"areas", areas}, {"crowd", crowd}, {"categories", categories_}};
  }

 private:
  const Picture& picture_of(const Sample& sample) const {
    auto found = by_name_.find(sample.name);
    if (found == by_name_.end()) found = by_name_.find(std::filesystem::path(sample.name).filename().string());
    QUENCH_CHECK(found != by_name_.end(), "the picture is not among the ", by_name_.size(), " images of '", path_, "'");
    const Picture& picture = *found->second;
    const Placement& place = sample.placement;
    const bool known = picture.width > 0 && place.width > 0;
    QUENCH_CHECK(!known || (picture.width == place.width && picture.height == place.height), "the picture is ",
                 place.width, " x ", place.height, " pixels, but '", path_, "' says ", picture.width, " x ",
                 picture.height, ": its boxes are of another picture");
    return picture;
  }

  void read_pictures(const Json& list) {
    for (std::size_t i = 0; i < list.size(); ++i)
      with_context([&] { return "in " + name_of("image", list[i], i); }, [&] { add_picture(list[i]); });
  }

  void add_picture(const Json& json) {
    const std::int64_t id = whole_in(json, "id");
    const Json& name = member(json, "file_name");
    QUENCH_CHECK(name.is_string(), "'file_name' is ", shown(name), ", not a text");
    const auto [picture, is_new] = pictures_.emplace(id, Picture{name.get<std::string>(), 0, 0, {}});
    QUENCH_CHECK(is_new, "the id ", id, " is given twice");
    if (json.contains("width") && json.contains("height")) {
      picture->second.width = whole_in(json, "width");
      picture->second.height = whole_in(json, "height");
    }
    QUENCH_CHECK(by_name_.emplace(picture->second.file, &picture->second).second, "the image '", picture->second.file,
                 "' is listed twice");
  }

  void read_annotations(const Json& json) {
    std::set<std::int64_t> categories;
    const bool listed = json.contains("categories");
    if (listed)
      for (const Json& one : list_in(json, "categories"))
        categories.insert(
            with_context([] { return std::string("in 'categories'"); }, [&] { return whole_in(one, "id"); }));
    const Json& list = list_in(json, "annotations");
    for (std::size_t i = 0; i < list.size(); ++i)
      with_context([&] { return "in " + name_of("annotation", list[i], i); },
                   [&] {
                     const std::int64_t category = add_annotation(list[i]);
                     QUENCH_CHECK(!listed || categories.contains(category), "'category_id' is ", category,
                                  ", which is not an id in 'categories'");
                     if (!listed) categories.insert(category);
                   });
    categories_ = at::tensor(std::vector<std::int64_t>(categories.begin(), categories.end()), at::kLong);
  }

  // Its category.
  std::int64_t add_annotation(const Json& json) {
    const std::int64_t id = whole_in(json, "image_id");
    const auto picture = pictures_.find(id);
    QUENCH_CHECK(picture != pictures_.end(), "'image_id' is ", id, ", which is not an id in 'images'");
    picture->second.boxes.push_back(annotation_of(json));
    return picture->second.boxes.back().category;
  }

  std::string path_;
  at::Tensor categories_;  // ids, sorted: of the list, or, without one, those that boxes have
  std::map<std::int64_t, Picture> pictures_;
  std::map<std::string, const Picture*> by_name_;
};

std::unique_ptr<Targets> open_coco(const std::string& path) { return std::make_unique<Coco>(path); }

}  // namespace

QUENCH_REGISTER_TARGETS("coco", open_coco, "the boxes of COCO's instances JSON, by the pictures' file names")

}  // namespace quench
