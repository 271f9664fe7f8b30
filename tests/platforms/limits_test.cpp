
#include <gtest/gtest.h>

#include "quench/platform_parts.h"

namespace quench {
namespace {

std::string refused(Role role, const std::string& scheme, const Limits& limits) {
  PlanEntry entry;
  entry.role = role;
  entry.scheme = QScheme::parse(scheme);
  return beyond(entry, limits);
}

TEST(Limits, AreIntegersOfEightBitsUnlessATargetSaysMore) {
  EXPECT_EQ(refused(Role::kActivation, "uint8 affine tensor", {}), "");
  EXPECT_EQ(refused(Role::kWeight, "int8 symmetric channel:0", {}), "");
  EXPECT_EQ(refused(Role::kWeight, "int4 symmetric tensor", {}), "4-bit weights (8 bits only)");
  EXPECT_EQ(refused(Role::kWeight, "e4m3fn tensor", {}), "weights in 'e4m3fn tensor' (integers only)");
  EXPECT_EQ(refused(Role::kActivation, "int8 affine channel:1", {}), "per-channel activations (per tensor only)");
  EXPECT_EQ(refused(Role::kBias, "int16 symmetric tensor", {}), "16-bit biases (8 bits only)");
}

TEST(Limits, BitsAreNamedAsAListOrARange) {
  EXPECT_EQ(refused(Role::kWeight, "int5 symmetric tensor", {.weight_bits = {4, 8}}),
            "5-bit weights (4 or 8 bits only)");
  EXPECT_EQ(refused(Role::kWeight, "int9 symmetric tensor", {.weight_bits = up_to_bits(8)}),
            "9-bit weights (1 to 8 bits only)");
}

TEST(Limits, SignsAreThoseOfARole) {
  const Limits limits{.weights = Signs::kSigned, .activations = Signs::kUnsigned};
  EXPECT_EQ(refused(Role::kWeight, "int8 symmetric tensor", limits), "");
  EXPECT_EQ(refused(Role::kWeight, "uint8 affine tensor", limits), "unsigned weights (signed only)");
  EXPECT_EQ(refused(Role::kActivation, "int8 affine tensor", limits), "signed activations (unsigned only)");
}

TEST(Limits, ATargetMayLackTheLowestCode) {
  EXPECT_EQ(refused(Role::kWeight, "int8 symmetric tensor narrow", {.lowest_code = false}), "");
  EXPECT_EQ(refused(Role::kWeight, "int8 symmetric tensor", {.lowest_code = false}),
            "weights with the code -128 (narrow only)");
}

TEST(Limits, ScalesOfGroupsAndActivationsMustBeAllowed) {
  EXPECT_EQ(refused(Role::kWeight, "int8 symmetric group:0:2", {}), "weights in groups");
  EXPECT_EQ(refused(Role::kWeight, "int8 symmetric group:0:2", {.group_weights = true}), "");
  EXPECT_EQ(refused(Role::kActivation, "int8 symmetric channel:1", {.split_activations = true}), "");
}

}  // namespace
}  // namespace quench
