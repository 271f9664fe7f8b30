// Names of networks in OpenMMLab's configs.
#include <gtest/gtest.h>

#include "quench/zoo.h"
#include "support/expect_error.h"

namespace quench {
namespace {

TEST(ZooName, OfOpenMMLabsBackbones) {
  EXPECT_EQ(zoo_name_of("ResNet", {{"depth", "18"}, {"num_stages", "4"}}), "resnet18");
  EXPECT_EQ(zoo_name_of("mmcls.ResNet", {{"depth", "50"}}), "resnet50");
  EXPECT_EQ(zoo_name_of("MobileNetV2"), "mobilenet_v2");
  EXPECT_EQ(zoo_name_of("MobileNetV2", {{"widen_factor", "1.0"}}), "mobilenet_v2");
  EXPECT_EQ(zoo_name_of("mmcls.MobileNetV3", {{"arch", "large"}}), "mobilenet_v3_large");
  EXPECT_EQ(zoo_name_of("MobileNetV3"), "mobilenet_v3_small");
  EXPECT_EQ(zoo_name_of("ShuffleNetV2", {{"widen_factor", "0.5"}}), "shufflenet_v2_x0_5");
  EXPECT_EQ(zoo_name_of("ShuffleNetV2", {{"widen_factor", "2.0"}}), "shufflenet_v2_x2_0");
  EXPECT_EQ(zoo_name_of("resnet20_cifar"), "resnet20_cifar");
}

TEST(ZooName, OfWhatTheZooDoesNotHave) {
  EXPECT_ERROR(zoo_name_of("ResNet", {{"depth", "101"}}), "the zoo has no ResNet with depth '101'; it has 18, 34, 50");
  EXPECT_ERROR(zoo_name_of("ResNet"), "the zoo has no ResNet with depth ''");
  EXPECT_ERROR(zoo_name_of("MobileNetV2", {{"widen_factor", "0.75"}}), "widen_factor '0.75'; it has 1");
  EXPECT_ERROR(zoo_name_of("mmcls.SwinTransformer"), "unknown zoo model 'SwinTransformer'");
}

}  // namespace
}  // namespace quench
