#include "measure/metric_items.h"
#include "support/expect_error.h"

namespace quench {
namespace {

at::Tensor log_of(double first, double second) { return at::tensor({first, second}).log(); }

TEST(KlMetric, IsTheMeanDivergenceFromTheFloatNetwork) {
  const double one = 0.5 * std::log(0.5 / 0.25) + 0.5 * std::log(0.5 / 0.75);
  EXPECT_NEAR(value_of("kl", {item_with_reference(log_of(0.25, 0.75), log_of(0.5, 0.5))}), one, 1e-12);
  // What softmax does not see is not counted.
  EXPECT_NEAR(value_of("kl", {item_with_reference(log_of(0.25, 0.75) + 3, log_of(0.5, 0.5)),
                              item_with_reference(log_of(0.5, 0.5), log_of(0.5, 0.5) - 1)}),
              one / 2, 1e-12);
  // Every row of scores counts.
  EXPECT_NEAR(value_of("kl", {item_with_reference(at::stack({log_of(0.25, 0.75), log_of(0.5, 0.5)}),
                                                  at::stack({log_of(0.5, 0.5), log_of(0.5, 0.5)}))}),
              one / 2, 1e-12);
}

TEST(KlMetric, SaysWhatDoesNotFit) {
  EXPECT_ERROR(metric_of("kl")->measure(item_with_reference(at::ones({2, 3}), at::ones({2, 4}))),
               "the output for item 'item' has the shape [2, 3], but that of the float network has [2, 4]");
}

}  // namespace
}  // namespace quench
