// Which detections of one item are right, by COCO's rules (cocoapi, COCOeval.evaluateImg).
#pragma once

#include <array>
#include <map>
#include <vector>

#include "measure/metrics/boxes.h"

namespace quench {

// Objects by their area in pixels. An object outside of a range is no miss there, and a detection of it no error.
constexpr std::array<std::array<double, 2>, 4> kAreas = {
    {{0.0, 1e10}, {0.0, 32.0 * 32}, {32.0 * 32, 96.0 * 96}, {96.0 * 96, 1e10}}};
constexpr std::array<const char*, 4> kAreaNames = {"all", "small", "medium", "large"};

enum class Verdict : std::uint8_t { kWrong, kRight, kIgnored };

struct MatchedDetection {
  double score = 0.0;
  std::array<std::vector<Verdict>, kAreas.size()> verdicts = {};  // by area, then by threshold of IoU
};

struct MatchedCategory {
  std::array<std::int64_t, kAreas.size()> objects = {};  // that must be found, by area
  std::vector<MatchedDetection> detections;              // the best first
};

// By category. At most `most` detections of each count, those with the highest scores; of equal ones the earlier.
std::map<std::int64_t, MatchedCategory> match_boxes(const std::vector<Detection>& found,
                                                    const std::vector<TrueBox>& wanted,
                                                    const std::vector<double>& thresholds, std::int64_t most);

// Of a crowd: over the area of the detection alone.
double overlap(const Box& found, const TrueBox& wanted);

}  // namespace quench
