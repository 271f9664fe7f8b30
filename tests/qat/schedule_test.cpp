#include <gtest/gtest.h>

#include <cmath>

#include "quench/train.h"
#include "support/expect_error.h"

namespace quench {
namespace {

TEST(Schedule, ShapesAreTheirFormulas) {
  ScheduleOptions schedule;
  EXPECT_DOUBLE_EQ(schedule_factor(schedule, 0, 10, 4), 1.0);
  EXPECT_NEAR(schedule_factor(schedule, 20, 10, 4), 0.5, 1e-12);  // half of the cosine
  EXPECT_NEAR(schedule_factor(schedule, 40, 10, 4), 0.0, 1e-12);
  schedule.end = 0.2;
  EXPECT_NEAR(schedule_factor(schedule, 40, 10, 4), 0.2, 1e-12);
  schedule = {.name = "step", .step_epochs = 2, .gamma = 0.5};
  EXPECT_DOUBLE_EQ(schedule_factor(schedule, 19, 10, 6), 1.0);
  EXPECT_DOUBLE_EQ(schedule_factor(schedule, 20, 10, 6), 0.5);
  EXPECT_DOUBLE_EQ(schedule_factor(schedule, 40, 10, 6), 0.25);
  schedule = {.name = "multi_step", .milestones = {1, 3}, .gamma = 0.1};
  EXPECT_DOUBLE_EQ(schedule_factor(schedule, 9, 10, 6), 1.0);
  EXPECT_DOUBLE_EQ(schedule_factor(schedule, 10, 10, 6), 0.1);
  EXPECT_NEAR(schedule_factor(schedule, 30, 10, 6), 0.01, 1e-15);
  schedule = {.name = "constant"};
  EXPECT_DOUBLE_EQ(schedule_factor(schedule, 59, 10, 6), 1.0);
}

TEST(Schedule, WarmsUpLinearly) {
  const ScheduleOptions schedule = {.name = "constant", .warmup_epochs = 2, .warmup_start = 0.5};
  EXPECT_NEAR(schedule_factor(schedule, 0, 10, 6), 0.525, 1e-12);  // 0.5 + 0.5 * 1/20
  EXPECT_NEAR(schedule_factor(schedule, 9, 10, 6), 0.75, 1e-12);   // half of the way
  EXPECT_NEAR(schedule_factor(schedule, 19, 10, 6), 1.0, 1e-12);
  EXPECT_DOUBLE_EQ(schedule_factor(schedule, 20, 10, 6), 1.0);
}

TEST(Schedule, WarmsUpInStepsAsInEpochs) {
  const ScheduleOptions epochs = {.warmup_epochs = 0.5, .warmup_start = 0.25};
  const ScheduleOptions steps = {.warmup_steps = 5, .warmup_start = 0.25};
  for (std::int64_t step = 0; step < 40; ++step)
    EXPECT_DOUBLE_EQ(schedule_factor(steps, step, 10, 4), schedule_factor(epochs, step, 10, 4)) << step;
  EXPECT_DOUBLE_EQ(schedule_factor({.name = "constant", .warmup_steps = 4}, 2, 1000, 1), 0.75);
  EXPECT_DOUBLE_EQ(schedule_factor({.name = "constant", .warmup_steps = 4}, 4, 1000, 1), 1.0);
}

TEST(Schedule, RefusesNonsense) {
  TrainOptions options;
  options.schedule.name = "square";
  EXPECT_ERROR(check_train_options(options), "unknown schedule 'square'");
  options = {};
  options.schedule.warmup_epochs = 20;
  EXPECT_ERROR(check_train_options(options), "the warm-up takes 20 epochs");
  options = {};
  options.optimizer.lr = 0;
  EXPECT_ERROR(check_train_options(options), "lr is 0; it must be above 0");
  options = {};
  options.schedule.warmup_steps = -1;
  EXPECT_ERROR(check_train_options(options), "warmup_steps is -1");
  options.schedule = {.warmup_epochs = 1, .warmup_steps = 1};
  EXPECT_ERROR(check_train_options(options), "the warm-up is given twice");
}

}  // namespace
}  // namespace quench
