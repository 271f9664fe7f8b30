#include "measure/metrics/match_boxes.h"

#include <algorithm>

namespace quench {
namespace {

bool is_outside(double area, std::size_t range) { return area < kAreas[range][0] || area > kAreas[range][1]; }

struct Category {
  std::vector<Detection> found;
  std::vector<TrueBox> wanted;
};

// One category of one item, in one range of areas.
class Matching {
 public:
  Matching(const Category& category, std::size_t range)
      : found_(category.found), wanted_(category.wanted), range_(range) {
    // Objects that count come first: COCO matches with the others only what fits none of them.
    std::stable_sort(wanted_.begin(), wanted_.end(),
                     [&](const TrueBox& a, const TrueBox& b) { return !is_ignored(a) && is_ignored(b); });
    for (const Detection& one : found_) {
      overlaps_.emplace_back();
      for (const TrueBox& object : wanted_) overlaps_.back().push_back(overlap(one.box, object));
    }
  }

  std::int64_t objects() const {
    return std::count_if(wanted_.begin(), wanted_.end(), [&](const TrueBox& one) { return !is_ignored(one); });
  }

  std::vector<Verdict> verdicts(double threshold) const {
    std::vector<bool> taken(wanted_.size());
    std::vector<Verdict> verdicts;
    for (std::size_t one = 0; one < found_.size(); ++one) {
      const std::size_t object = best(one, threshold, taken);
      if (object == wanted_.size()) {
        verdicts.push_back(is_outside(found_[one].box.area(), range_) ? Verdict::kIgnored : Verdict::kWrong);
      } else {
        taken[object] = true;
        verdicts.push_back(is_ignored(wanted_[object]) ? Verdict::kIgnored : Verdict::kRight);
      }
    }
    return verdicts;
  }

 private:
  bool is_ignored(const TrueBox& one) const { return one.crowd || is_outside(one.area, range_); }

  // The object with the greatest overlap; of equal ones the last. A crowd can be taken many times.
  std::size_t best(std::size_t one, double threshold, const std::vector<bool>& taken) const {
    std::size_t chosen = wanted_.size();
    double least = std::min(threshold, 1 - 1e-10);
    for (std::size_t object = 0; object < wanted_.size(); ++object) {
      if (taken[object] && !wanted_[object].crowd) continue;
      const bool has_counted = chosen != wanted_.size() && !is_ignored(wanted_[chosen]);
      if (has_counted && is_ignored(wanted_[object])) break;
      if (overlaps_[one][object] < least) continue;
      least = overlaps_[one][object];
      chosen = object;
    }
    return chosen;
  }

  const std::vector<Detection>& found_;
  std::vector<TrueBox> wanted_;
  std::size_t range_;
  std::vector<std::vector<double>> overlaps_;
};

MatchedCategory matched(const Category& category, const std::vector<double>& thresholds) {
  MatchedCategory result;
  for (const Detection& one : category.found) result.detections.emplace_back().score = one.score;
  for (std::size_t range = 0; range < kAreas.size(); ++range) {
    const Matching matching(category, range);
    result.objects[range] = matching.objects();
    for (const double threshold : thresholds) {
      const std::vector<Verdict> verdicts = matching.verdicts(threshold);
      for (std::size_t i = 0; i < verdicts.size(); ++i) result.detections[i].verdicts[range].push_back(verdicts[i]);
    }
  }
  return result;
}

}  // namespace

double overlap(const Box& found, const TrueBox& wanted) {
  const Box& box = wanted.box;
  const double width = std::min(found.right, box.right) - std::max(found.left, box.left);
  const double height = std::min(found.bottom, box.bottom) - std::max(found.top, box.top);
  if (width <= 0 || height <= 0) return 0.0;
  const double both = width * height;
  return both / (wanted.crowd ? found.area() : found.area() + box.area() - both);
}

std::map<std::int64_t, MatchedCategory> match_boxes(const std::vector<Detection>& found,
                                                    const std::vector<TrueBox>& wanted,
                                                    const std::vector<double>& thresholds, std::int64_t most) {
  std::map<std::int64_t, Category> categories;
  for (const Detection& one : found) categories[one.category].found.push_back(one);
  for (const TrueBox& one : wanted) categories[one.category].wanted.push_back(one);
  std::map<std::int64_t, MatchedCategory> result;
  for (auto& [id, category] : categories) {
    std::stable_sort(category.found.begin(), category.found.end(),
                     [](const Detection& a, const Detection& b) { return a.score > b.score; });
    if (static_cast<std::int64_t>(category.found.size()) > most) category.found.resize(static_cast<std::size_t>(most));
    result[id] = matched(category, thresholds);
  }
  return result;
}

}  // namespace quench
