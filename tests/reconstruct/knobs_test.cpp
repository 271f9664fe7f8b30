#include "reconstruct/knobs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reconstruct/learn_rounding.h"
#include "reconstruct/nets.h"

namespace quench {
namespace {

Options with_defaults(const Options& given) { return given.checked(rounding_options(0.5, 100), "the test"); }

TEST(RoundingSettings, TheRegulariserBeginsAfterTheWarmUpAndItsExponentFallsLinearly) {
  const RoundingSettings settings(with_defaults({{"max_count", 100.0}, {"warm_up", 0.2}, {"b_range", "20,2"}}));
  EXPECT_EQ(settings.begin(), 20);
  EXPECT_EQ(settings.beta(0), 20);
  EXPECT_EQ(settings.beta(20), 20);
  EXPECT_DOUBLE_EQ(settings.beta(60), 11);
  EXPECT_DOUBLE_EQ(settings.beta(100), 2);
  EXPECT_DOUBLE_EQ(settings.decay(0), 1);
  EXPECT_DOUBLE_EQ(settings.decay(50), 0.5);
  EXPECT_NEAR(settings.decay(100), 0, 1e-12);
}

// More steps than are filled in at once.
constexpr double kSteps = 2 * Knobs::kWindow + 10;

std::int64_t runs_expected = 1;

void look_at_every_step(UnitWork& work, UnitRecord& record) {
  const RoundingSettings settings(work.options());
  Knobs knobs(settings, work);
  ASSERT_EQ(knobs.runs(), runs_expected);
  for (record.iterations = 0; record.iterations < settings.iterations; ++record.iterations) {
    const std::int64_t step = record.iterations;
    knobs.turn(step);
    knobs.look();
    for (std::int64_t run = 0; run < knobs.runs(); ++run)
      ASSERT_TRUE(knobs.rows(run).equal(work.draw(step * knobs.runs() + run))) << step;
    ASSERT_EQ(knobs.counter().item<std::int64_t>(), step);
    const double decay = 0.5 * (1 + std::cos(M_PI * static_cast<double>(step) / kSteps));
    ASSERT_FLOAT_EQ(knobs.rate().item<float>(), 0.25F);
    ASSERT_NEAR(knobs.scale_rate().item<float>(), 0.5 * decay, 1e-6) << step;
    ASSERT_NEAR(knobs.weight_scale_rate().item<float>(), 0.75 * decay, 1e-6) << step;
    ASSERT_NEAR(knobs.bias_rate().item<float>(), 0.125 * decay, 1e-6) << step;
    ASSERT_FLOAT_EQ(knobs.weight().item<float>(), step < settings.begin() ? 0.0F : 0.01F) << step;
    ASSERT_FLOAT_EQ(knobs.beta().item<float>(), static_cast<float>(settings.beta(step))) << step;
  }
}
QUENCH_REGISTER_PTQ_METHOD("look_at_knobs", look_at_every_step, "for a test", rounding_options(1.0, kSteps))

// With a batch that the model fixes a step has as many runs as fit into what it is told.
TEST(Knobs, EveryStepFindsItsItemsAndRates) {
  const auto data = random_images(12);
  for (const auto& [batch, runs] : {std::pair(Dim::symbol("N"), 1), {Dim(1), 4}, {Dim(3), 1}, {Dim(6), 1}}) {
    QuantizedModel model = prepare_by_platform(residual_net(batch), "academic", few_bits(4));
    calibrate(model, *data);
    runs_expected = runs;
    ReconstructOptions options;
    options.method = "look_at_knobs";
    options.options =
        Options{{"batch", 4.0}, {"lr", 0.25}, {"scale_lr", 0.5}, {"weight_scale_lr", 0.75}, {"bias_lr", 0.125}};
    const ReconstructionRecord record = reconstruct(model, *data, options);
    EXPECT_EQ(record.units.size(), 4U);
    for (const UnitRecord& unit : record.units) EXPECT_EQ(unit.iterations, static_cast<std::int64_t>(kSteps));
  }
}

}  // namespace
}  // namespace quench
