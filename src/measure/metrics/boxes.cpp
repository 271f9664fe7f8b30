#include "measure/metrics/boxes.h"

#include <ATen/ATen.h>

#include <cmath>

#include "quench/error.h"

namespace quench {
namespace {

constexpr std::int64_t kColumns = 6;  // of one output with everything: four of the box, score, label

const std::string& choice(const Options& options, const char* key, const std::vector<std::string>& known) {
  const std::string& word = options.word(key);
  for (const std::string& one : known)
    if (one == word) return word;
  fail_unknown_name(concat("value of '", key, "'").c_str(), word, known);
}

at::Tensor rows(const at::Tensor& tensor, std::int64_t columns, const std::string& name, const MetricItem& item) {
  const bool fits = columns == 1 || (tensor.dim() > 0 && tensor.size(-1) == columns) || tensor.numel() == 0;
  QUENCH_CHECK(fits, "the output '", name, "' for item '", item.name, "' has the shape ", tensor.sizes(),
               "; a last axis of ", columns, " was expected");
  return tensor.to(at::kDouble).reshape({-1, columns}).contiguous();
}

const at::Tensor* target(const MetricItem& item, const char* name) {
  const auto found = item.targets.find(name);
  return found == item.targets.end() ? nullptr : &found->second.tensor();
}

const at::Tensor& needed_target(const MetricItem& item, const char* name) {
  const at::Tensor* found = target(item, name);
  QUENCH_CHECK(found, "item '", item.name, "' has no target '", name,
               "': boxes come with targets=coco:FILE, or as arrays ", "'boxes' [n, 4] (corners) and 'labels' [n]");
  return *found;
}

}  // namespace

BoxLayout::BoxLayout(const Options& options)
    : boxes_(options.word("boxes")),
      scores_(options.word("scores")),
      labels_(options.word("labels")),
      all_(options.word("detections")),
      format_(choice(options, "format", {"xyxy", "xywh", "cxcywh"})),
      space_(choice(options, "space", {"input", "picture"})),
      offset_(whole_option(options, "offset")),
      normalized_(switch_option(options, "normalized")),
      indices_(choice(options, "label", {"id", "index"}) == "index") {}

std::vector<OptionInfo> BoxLayout::options() {
  return {
      {"boxes", std::string("boxes"), "the output with the boxes, [n, 4]"},
      {"scores", std::string("scores"), "the output with their scores, [n]"},
      {"labels", std::string("labels"), "the output with their labels, [n]"},
      {"detections", std::string(), "instead: one output [n, 6] of box, score and label"},
      {"format", std::string("xyxy"), "of boxes: xyxy (corners), xywh (left, top, width, height) or cxcywh (centre)"},
      {"normalized", 0.0, "whether boxes are in shares of width and height, not in pixels (0 or 1)"},
      {"space", std::string("input"), "whose pixels: input (of the model) or picture (as it is in its file)"},
      {"label", std::string("id"), "what labels are: id (of the category) or index (among the sorted ids)"},
      {"offset", 0.0, "added to labels first: -1 where 0 is the background and 1 the first index"}};
}

std::vector<std::string> BoxLayout::outputs() const {
  return all_.empty() ? std::vector<std::string>{boxes_, scores_, labels_} : std::vector<std::string>{all_};
}

Box BoxLayout::corners(const double* numbers, const MetricItem& item) const {
  Box box{numbers[0], numbers[1], numbers[2], numbers[3]};
  if (format_ == "cxcywh") {
    box.left -= numbers[2] / 2;
    box.top -= numbers[3] / 2;
  }
  if (format_ != "xyxy") {
    box.right = box.left + numbers[2];
    box.bottom = box.top + numbers[3];
  }
  const Placement& placed = item.placement;
  double width = 1.0, height = 1.0;
  if (normalized_) {
    const at::Tensor& input = item.inputs.begin()->second.tensor();
    QUENCH_CHECK(input.dim() >= 2, "normalized boxes need a picture as the model's first input");
    width = static_cast<double>(input.size(-1));
    height = static_cast<double>(input.size(-2));
    QUENCH_CHECK(space_ == "input", "normalized boxes are shares of the model's input: omit space=");
  }
  box = {box.left * width, box.top * height, box.right * width, box.bottom * height};
  if (space_ == "picture") return box;
  return {(box.left - placed.left) / placed.scale_x, (box.top - placed.top) / placed.scale_y,
          (box.right - placed.left) / placed.scale_x, (box.bottom - placed.top) / placed.scale_y};
}

std::int64_t BoxLayout::category_of(std::int64_t label, const MetricItem& item) const {
  const std::int64_t number = label + offset_;
  if (!indices_) return number;
  const at::Tensor& ids = needed_target(item, "categories");
  // A network may know more classes than the data: they are wrong wherever they are found.
  if (number < 0 || number >= ids.numel()) return -1 - number;
  return ids[number].item<std::int64_t>();
}

std::vector<Detection> BoxLayout::detections(const MetricItem& item) const {
  at::Tensor boxes, scores, labels;
  if (!all_.empty()) {
    const at::Tensor all = rows(item.outputs.at(all_).tensor(), kColumns, all_, item);
    boxes = all.narrow(1, 0, 4).contiguous();
    scores = all.select(1, 4).contiguous();
    labels = all.select(1, 5).contiguous();
  } else {
    boxes = rows(item.outputs.at(boxes_).tensor(), 4, boxes_, item);
    scores = rows(item.outputs.at(scores_).tensor(), 1, scores_, item);
    labels = rows(item.outputs.at(labels_).tensor(), 1, labels_, item);
  }
  QUENCH_CHECK(scores.numel() == boxes.size(0) && labels.numel() == boxes.size(0), "item '", item.name, "' has ",
               boxes.size(0), " boxes, ", scores.numel(), " scores and ", labels.numel(), " labels");
  labels = whole_numbers(labels, concat("the model's labels for item '", item.name, "'"));
  std::vector<Detection> found;
  for (std::int64_t i = 0; i < boxes.size(0); ++i) {
    const double score = scores.const_data_ptr<double>()[i];
    QUENCH_CHECK(!std::isnan(score), "the model gives NaN for item '", item.name, "'");
    found.push_back({corners(boxes.const_data_ptr<double>() + 4 * i, item), score,
                     category_of(labels.const_data_ptr<std::int64_t>()[i], item)});
  }
  return found;
}

std::vector<TrueBox> true_boxes(const MetricItem& item) {
  const at::Tensor boxes = needed_target(item, "boxes").to(at::kDouble).reshape({-1, 4}).contiguous();
  const at::Tensor labels =
      whole_numbers(needed_target(item, "labels"), concat("the true labels of item '", item.name, "'"))
          .reshape(-1)
          .contiguous();
  QUENCH_CHECK(labels.numel() == boxes.size(0), "item '", item.name, "' has ", boxes.size(0), " true boxes, but ",
               labels.numel(), " labels");
  const at::Tensor *areas = target(item, "areas"), *crowd = target(item, "crowd");
  std::vector<TrueBox> found;
  for (std::int64_t i = 0; i < boxes.size(0); ++i) {
    const auto* corner = boxes.const_data_ptr<double>() + 4 * i;
    TrueBox one;
    one.box = {corner[0], corner[1], corner[2], corner[3]};
    one.category = labels.const_data_ptr<std::int64_t>()[i];
    if (one.category < 0) continue;  // pads an array
    QUENCH_CHECK(one.box.right >= one.box.left && one.box.bottom >= one.box.top, "true box ", i, " of item '",
                 item.name, "' is [", corner[0], ", ", corner[1], ", ", corner[2], ", ", corner[3],
                 "]: left, top, right and bottom were expected, in that order");
    one.area = areas ? (*areas)[i].item<double>() : one.box.area();
    one.crowd = crowd && (*crowd)[i].item<double>() != 0;
    found.push_back(one);
  }
  return found;
}

}  // namespace quench
