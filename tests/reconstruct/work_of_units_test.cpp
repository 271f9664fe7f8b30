#include "reconstruct/work_of_units.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "reconstruct/nets.h"

namespace quench {
namespace {

// Both blocks do the same. A convolution and its ReLU give 512 numbers each, of which each sum has 9 products per
// channel that it reads: 8 in a block, 3 in the stem.
TEST(WorkOfUnits, FollowsShapesAndIsOneOnAverage) {
  const Graph graph = residual_net();
  const std::vector<Unit> units = find_units(graph, {"layer", {}});
  const std::map<std::string, double> work = work_of_units(graph, units);
  ASSERT_EQ(static_cast<std::int64_t>(work.size()),
            std::count_if(units.begin(), units.end(), [](const Unit& unit) { return unit.learns(); }));
  double sum = 0;
  for (const auto& [name, of_unit] : work) sum += of_unit;
  EXPECT_NEAR(sum, static_cast<double>(work.size()), 1e-9);
  EXPECT_EQ(work.at("block0.conv1"), work.at("block1.conv1"));
  const double in_block = 512 * 8 * 9 + 2 * 512 * 100, in_stem = 512 * 3 * 9 + 2 * 512 * 100;
  EXPECT_NEAR(work.at("block0.conv1") / work.at("stem.conv"), in_block / in_stem, 1e-9);
}

}  // namespace
}  // namespace quench
