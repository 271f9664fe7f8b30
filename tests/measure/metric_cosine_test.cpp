#include "measure/metric_items.h"

namespace quench {
namespace {

TEST(Cosine, IsTheMeanOverItems) {
  // 45 degrees; the same direction; opposite ones.
  EXPECT_NEAR(value_of("cosine", {item_with_target(at::tensor({1.0F, 0.0F}), at::tensor({2.0F, 2.0F}))}),
              std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(value_of("cosine", {item_with_target(at::tensor({1.0F, 2.0F}), at::tensor({2.0F, 4.0F})),
                                  item_with_target(at::tensor({1.0F, 2.0F}), at::tensor({-1.0F, -2.0F}))}),
              0.0, 1e-12);
}

TEST(Cosine, OfZeros) {
  EXPECT_EQ(value_of("cosine:to=float", {item_with_reference(at::zeros({2}), at::zeros({2}))}), 1.0);
  EXPECT_EQ(value_of("cosine:to=float", {item_with_reference(at::zeros({2}), at::ones({2}))}), 0.0);
}

}  // namespace
}  // namespace quench
