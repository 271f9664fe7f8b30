#include <gtest/gtest.h>

#include "platforms/zoo_graph.h"

namespace quench {
namespace {

TEST(Tensorrt, CountsOfTheReference) {
  EXPECT_EQ(counts("tensorrt", "resnet18"), (Counts{31, 21}));
  EXPECT_EQ(counts("tensorrt", "mobilenet_v2"), (Counts{64, 53}));
}

}  // namespace
}  // namespace quench
