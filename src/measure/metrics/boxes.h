// Detections of a network and the true boxes of an item, both as corners in the picture's own pixels.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "quench/metric.h"

namespace quench {

struct Box {
  double left = 0.0, top = 0.0, right = 0.0, bottom = 0.0;
  double area() const { return (right - left) * (bottom - top); }
};

struct Detection {
  Box box;
  double score = 0.0;
  std::int64_t category = 0;
};

struct TrueBox {
  Box box;
  double area = 0.0;  // of the object, which may be less than that of its box
  std::int64_t category = 0;
  bool crowd = false;
};

// How a network's outputs are to be read.
class BoxLayout {
 public:
  explicit BoxLayout(const Options& options);
  static std::vector<OptionInfo> options();

  std::vector<std::string> outputs() const;
  std::vector<Detection> detections(const MetricItem& item) const;

 private:
  Box corners(const double* numbers, const MetricItem& item) const;
  std::int64_t category_of(std::int64_t label, const MetricItem& item) const;

  std::string boxes_, scores_, labels_, all_, format_, space_;
  std::int64_t offset_;
  bool normalized_, indices_;
};

std::vector<TrueBox> true_boxes(const MetricItem& item);

}  // namespace quench
