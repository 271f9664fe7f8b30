#include "platforms/plan/platform_of_model.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace quench {
namespace {

TEST(PlatformOfModel, IsTheOneThatThePlanNames) {
  QuantizedModel model;
  model.plan.platform = "Tensorrt";
  EXPECT_EQ(platform_name_of(model), "tensorrt");
  EXPECT_EQ(&platform_of(model), &find_platform("tensorrt"));
}

TEST(PlatformOfModel, ThatAPlugInHasNamesThePlugIn) {
  QuantizedModel model;
  model.plan.platform = "chip";
  EXPECT_ERROR(platform_of(model), "unknown platform 'chip'", "if it is a plug-in's, load that first");
  model.graph.metadata["quench.plugins"] = "chip.so (quench 1.2.3)";
  EXPECT_ERROR(platform_of(model), "unknown platform 'chip'", "made with the plug-in chip.so (quench 1.2.3)");
}

}  // namespace
}  // namespace quench
