// Norms that keep their statistics from a step on.
#include <gtest/gtest.h>

#include "data/files.h"
#include "qat/quarters_net.h"
#include "support/expect_error.h"

namespace quench {
namespace {

constexpr std::int64_t kStepsPerEpoch = 8;  // of quick() on items()

struct Killed {};

TrainOptions frozen_from(std::int64_t step) {
  TrainOptions options = quick();
  options.freeze_bn_step = step;
  return options;
}

QuantizedModel made(const std::string& loop) {
  return loop == "learn" ? calibrated() : prepared(loop == "lsq_epoch" ? "lsq" : "fixed");
}

TEST(FreezeNorms, TheFirstStepOfAnEpochIsThatEpoch) {
  QuantizedModel by_epoch = calibrated(), by_step = calibrated(), never = calibrated();
  TrainOptions options = quick();
  options.freeze_bn_begin = 2;
  train(by_epoch, {items()}, options);
  train(by_step, {items()}, frozen_from(kStepsPerEpoch + 1));
  train(never, {items()}, quick());
  EXPECT_TRUE(same_constants(by_epoch.graph, by_step.graph));
  ASSERT_EQ(by_step.graph.constants().size(), never.graph.constants().size());
  EXPECT_FALSE(same_constants(by_step.graph, never.graph));
}

TEST(FreezeNorms, AWarmUpInStepsFitsIntoTheTraining) {
  QuantizedModel model = calibrated();
  TrainOptions options = quick();
  options.schedule.warmup_steps = 1000;
  EXPECT_ERROR(train(model, {items()}, options), "the warm-up takes 1000 steps, and 3 epochs have");
}

std::vector<at::Tensor> statistics_of(const QuantizedModel& model) {
  std::vector<at::Tensor> all;
  for (const Value* value : model.graph.constants())
    if (value->name().find("running_") != std::string::npos) all.push_back(value->tensor().detach().clone());
  return all;
}

// In the middle of an epoch: statistics move up to the step before, and no further.
TEST(FreezeNorms, StatisticsStayFromThatStepOn) {
  const auto statistics_after = [](std::int64_t steps, std::int64_t freeze) {
    QuantizedModel model = calibrated();
    TrainOptions options = frozen_from(freeze);
    options.max_steps = steps;
    train(model, {items()}, options);
    return statistics_of(model);
  };
  const auto third = statistics_after(3, 0), frozen = statistics_after(6, 4), moving = statistics_after(6, 0);
  ASSERT_FALSE(third.empty());
  ASSERT_EQ(frozen.size(), third.size());
  bool moves = false;
  for (std::size_t i = 0; i < third.size(); ++i) {
    EXPECT_TRUE(at::equal(frozen[i], third[i])) << i;
    moves |= !at::equal(moving[i], third[i]);
  }
  EXPECT_TRUE(moves);
}

// Interrupted before, at and after the step.
TEST(FreezeNorms, ResumesToTheSameBits) {
  for (const std::string loop : {"learn", "qat_epoch", "lsq_epoch"}) {
    TrainOptions options = frozen_from(12);
    options.loop = loop;
    options.checkpoint_every = 1;
    QuantizedModel whole = made(loop);
    const TempFolder folder;
    options.folder = folder.path("whole");
    train(whole, {items(), &others()}, options);
    options.folder = folder.path("parts");
    options.resume = true;
    for (const std::int64_t last : {10, 11, 12, 17}) {
      options.progress = [last](std::int64_t done, std::int64_t, double) {
        if (done > last) throw Killed();
      };
      QuantizedModel part = made(loop);
      try {
        train(part, {items(), &others()}, options);
        ADD_FAILURE() << "was not interrupted after step " << last;
      } catch (const Killed&) {
      }
    }
    options.progress = {};
    QuantizedModel resumed = made(loop);
    EXPECT_EQ(train(resumed, {items(), &others()}, options).resumed_from, 17) << loop;
    EXPECT_TRUE(same_constants(whole.graph, resumed.graph)) << loop;
  }
}

TEST(FreezeNorms, AStepIsNotNegative) {
  EXPECT_ERROR(check_train_options(frozen_from(-1)), "freeze_bn_step must be at least 0");
}

}  // namespace
}  // namespace quench
