#include "reconstruct/work_of_units.h"

#include <gtest/gtest.h>

#include "reconstruct/nets.h"

namespace quench {
namespace {

// Both blocks do the same; the head reads 8 numbers.
TEST(WorkOfUnits, FollowsShapesAndIsOneOnAverage) {
  const Graph graph = residual_net();
  const std::vector<Unit> units = find_units(graph, {"layer", {}});
  const std::map<std::string, double> work = work_of_units(graph, units);
  ASSERT_EQ(work.size(), units.size());
  double sum = 0;
  for (const auto& [name, of_unit] : work) sum += of_unit;
  EXPECT_NEAR(sum, static_cast<double>(work.size()), 1e-9);
  EXPECT_EQ(work.at("block0.conv1"), work.at("block1.conv1"));
  EXPECT_GT(work.at("block0.conv1"), work.at("stem.conv"));
  EXPECT_LT(work.at("head"), 0.1);
}

}  // namespace
}  // namespace quench
