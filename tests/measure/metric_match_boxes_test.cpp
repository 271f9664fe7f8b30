// COCO's rules for which detections are right, case by case.
#include "measure/metrics/match_boxes.h"

#include <gtest/gtest.h>

namespace quench {
namespace {

constexpr std::int64_t kCategory = 1;

Detection detection(Box box, double score) { return {box, score, kCategory}; }
TrueBox object(Box box, bool crowd = false) { return {box, box.area(), kCategory, crowd}; }

MatchedCategory matched(const std::vector<Detection>& found, const std::vector<TrueBox>& wanted, double threshold = 0.5,
                        std::int64_t most = 100) {
  return match_boxes(found, wanted, {threshold}, most).at(kCategory);
}

std::vector<Verdict> verdicts(const MatchedCategory& category, std::size_t area = 0) {
  std::vector<Verdict> found;
  for (const MatchedDetection& one : category.detections) found.push_back(one.verdicts[area][0]);
  return found;
}

using enum Verdict;

TEST(Overlap, IsOverTheUnionOrOfACrowdOverTheDetection) {
  EXPECT_DOUBLE_EQ(overlap({0, 0, 10, 10}, object({5, 0, 15, 10})), 50.0 / 150);
  EXPECT_DOUBLE_EQ(overlap({0, 0, 10, 10}, object({5, 0, 15, 10}, true)), 0.5);
  EXPECT_EQ(overlap({0, 0, 10, 10}, object({10, 0, 20, 10})), 0.0);
}

TEST(MatchBoxes, AnObjectIsFoundOnce) {
  const auto result =
      matched({detection({0, 0, 10, 9}, 0.6), detection({0, 0, 10, 10}, 0.9)}, {object({0, 0, 10, 10})});
  EXPECT_EQ(result.detections[0].score, 0.9);  // the best first
  EXPECT_EQ(verdicts(result), (std::vector<Verdict>{kRight, kWrong}));
  EXPECT_EQ(result.objects[0], 1);
}

TEST(MatchBoxes, TheBetterOverlapIsTaken) {
  // Overlaps of 0.8 and 1: the second is taken, so that the next detection has the first one left.
  const std::vector<TrueBox> objects = {object({0, 0, 10, 8}), object({0, 0, 10, 10})};
  EXPECT_EQ(verdicts(matched({detection({0, 0, 10, 10}, 0.9), detection({0, 0, 10, 8}, 0.8)}, objects, 0.85)),
            (std::vector<Verdict>{kRight, kRight}));
  EXPECT_EQ(verdicts(matched({detection({0, 0, 10, 8}, 0.9), detection({0, 0, 10, 7}, 0.8)}, objects, 0.85)),
            (std::vector<Verdict>{kRight, kWrong}));
}

TEST(MatchBoxes, TheThresholdItselfIsEnough) {
  EXPECT_EQ(verdicts(matched({detection({0, 0, 10, 5}, 0.9)}, {object({0, 0, 10, 10})})),
            (std::vector<Verdict>{kRight}));
  EXPECT_EQ(verdicts(matched({detection({0, 0, 10, 4.9}, 0.9)}, {object({0, 0, 10, 10})})),
            (std::vector<Verdict>{kWrong}));
}

TEST(MatchBoxes, ACrowdExcusesManyDetectionsAndIsNoObject) {
  const auto result =
      matched({detection({0, 0, 5, 5}, 0.9), detection({5, 5, 9, 9}, 0.8), detection({50, 50, 60, 60}, 0.7)},
              {object({0, 0, 10, 10}, true)});
  EXPECT_EQ(result.objects[0], 0);
  EXPECT_EQ(verdicts(result), (std::vector<Verdict>{kIgnored, kIgnored, kWrong}));
}

TEST(MatchBoxes, AnObjectThatCountsGoesBeforeACrowd) {
  const auto result =
      matched({detection({0, 0, 10, 10}, 0.9)}, {object({0, 0, 100, 100}, true), object({0, 0, 10, 12})});
  EXPECT_EQ(verdicts(result), (std::vector<Verdict>{kRight}));  // although the crowd overlaps entirely
}

// 10x10 is small, 40x40 medium, 100x100 large.
TEST(MatchBoxes, RangesOfAreasIgnoreWhatIsOutside) {
  const auto result = matched({detection({0, 0, 10, 10}, 0.9), detection({200, 200, 240, 240}, 0.8)},
                              {object({0, 0, 10, 10}), object({100, 0, 200, 100})});
  EXPECT_EQ(result.objects, (std::array<std::int64_t, 4>{2, 1, 0, 1}));
  EXPECT_EQ(verdicts(result, 0), (std::vector<Verdict>{kRight, kWrong}));
  EXPECT_EQ(verdicts(result, 1), (std::vector<Verdict>{kRight, kIgnored}));  // the wrong one is medium
  EXPECT_EQ(verdicts(result, 2), (std::vector<Verdict>{kIgnored, kWrong}));  // the right one is of a small object
  EXPECT_EQ(verdicts(result, 3), (std::vector<Verdict>{kIgnored, kIgnored}));
}

TEST(MatchBoxes, OnlyTheBestDetectionsCountAndOfEqualOnesTheEarlier) {
  const auto result =
      matched({detection({0, 0, 1, 1}, 0.5), detection({0, 0, 2, 2}, 0.5), detection({0, 0, 3, 3}, 0.9)},
              {object({0, 0, 1, 1})}, 0.5, 2);
  ASSERT_EQ(result.detections.size(), 2U);
  EXPECT_EQ(verdicts(result), (std::vector<Verdict>{kWrong, kRight}));
}

TEST(MatchBoxes, CategoriesAreApart) {
  const auto result = match_boxes({{{0, 0, 10, 10}, 0.9, 5}}, {object({0, 0, 10, 10})}, {0.5}, 100);
  EXPECT_EQ(result.at(5).objects[0], 0);
  EXPECT_EQ(verdicts(result.at(5)), (std::vector<Verdict>{kWrong}));
  EXPECT_EQ(result.at(kCategory).objects[0], 1);
}

}  // namespace
}  // namespace quench
