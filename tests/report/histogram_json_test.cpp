#include "report/histogram_json.h"

#include <gtest/gtest.h>

namespace quench {
namespace {

TEST(HistogramJson, NumbersAreShortAndTheSame) {
  TensorHistogram one;
  one.low = {-0.1F};
  one.high = {0.0035374579F};
  const Json object = json_of(one);
  EXPECT_EQ(object["low"].dump(), "[-0.1]");
  EXPECT_EQ(static_cast<float>(object["high"][0].get<double>()), 0.0035374579F);
  EXPECT_LE(object["high"][0].dump().size(), 12U);
  EXPECT_FALSE(object.contains("channels"));
  EXPECT_FALSE(object.contains("lost_counts"));
}

TEST(HistogramJson, ManyChannelsAreGivenForGroupsOfNeighbours) {
  TensorHistogram one;
  for (int i = 0; i < 1025; ++i) {
    one.channel_min.push_back(static_cast<float>(-i));
    one.channel_max.push_back(static_cast<float>(i));
  }
  one.low = {-1.0F};
  one.high = {1.0F};
  const Json object = json_of(one);
  EXPECT_EQ(object["channels"], 1025);
  ASSERT_EQ(object["channel_min"].size(), 342U);  // of three each
  EXPECT_EQ(object["channel_min"][0], -2.0);
  EXPECT_EQ(object["channel_max"][0], 2.0);
  EXPECT_EQ(object["channel_max"][341], 1024.0);
  EXPECT_EQ(object["low"].size(), 1U);
}

TEST(HistogramJson, ScalesGoWithTheirChannels) {
  TensorHistogram one;
  one.channel_min.assign(600, -1.0F);
  one.channel_max.assign(600, 1.0F);
  one.low.assign(600, -2.0F);
  one.high.assign(600, 2.0F);
  const Json object = json_of(one);
  EXPECT_EQ(object["channel_min"].size(), 300U);
  EXPECT_EQ(object["low"].size(), 300U);
}

}  // namespace
}  // namespace quench
