// 'train' of quench's own schema, docs/config.md 6.
#include "config/jobs.h"

namespace quench {
namespace {

TEST(ConfigTrain, ReadsEveryKind) {
  const JobConfig job = job_of(
      "train: {loop: qat_epoch, epochs: 7, batch: 16, bf16: true, ema: 0.9, dynamic_intervals: [[3, 2]], "
      "optimizer: {name: adam, lr: 0.5, scale_lr: 0.1}, schedule: {name: multi_step, milestones: [1, 2.5]}, "
      "augment: {flip: true, crop: 4}, distill: {weight: 0.5}}\ndata: {train: \"npz:a\", val: \"npz:b\"}");
  ASSERT_TRUE(job.train.has_value());
  const TrainOptions& options = *job.train;
  EXPECT_EQ(options.loop, "qat_epoch");
  EXPECT_EQ(options.epochs, 7);
  EXPECT_EQ(options.batch, 16);
  EXPECT_TRUE(options.bf16);
  EXPECT_EQ(options.ema, 0.9);
  EXPECT_EQ(options.dynamic_intervals, (std::vector<std::pair<int, int>>{{3, 2}}));
  EXPECT_EQ(options.optimizer.name, "adam");
  EXPECT_EQ(options.optimizer.scale_lr, 0.1);
  EXPECT_EQ(options.schedule.milestones, (std::vector<double>{1, 2.5}));
  EXPECT_TRUE(options.augment.flip);
  EXPECT_EQ(options.augment.crop, 4);
  EXPECT_EQ(options.distill.weight, 0.5);
  EXPECT_EQ(options.distill.temperature, 4.0);
  EXPECT_EQ(job.data.val, parse_spec("npz:b"));
  expect_same_again(job);
}

TEST(ConfigTrain, KnowsLoopsByMmrazorsNames) {
  for (const char* name : {"lsq_epoch", "LSQEpochBasedLoop", "mmrazor.LSQEpochBasedLoop"})
    EXPECT_EQ(job_of("version: 1", {concat("train.loop=", name)}).train.value().loop, "lsq_epoch");
  EXPECT_EQ(job_of("train: {loop: QATEpochBasedLoop}").train.value().loop, "qat_epoch");
}

TEST(ConfigTrain, CountsInStepsToo) {
  const JobConfig job =
      job_of("train: {freeze_bn_step: 300, schedule: {warmup_steps: 20}, dynamic_intervals: [[0, 1]]}");
  EXPECT_EQ(job.train.value().freeze_bn_step, 300);
  EXPECT_EQ(job.train.value().schedule.warmup_steps, 20);
  expect_same_again(job);
}

TEST(ConfigTrain, AbsentIsNoTraining) { EXPECT_FALSE(job_of("version: 1").train.has_value()); }

TEST(ConfigTrain, NamesWhatIsWrong) {
  EXPECT_CONTAINS(refused("train: {epoch: 3}"), "epochs");
  EXPECT_CONTAINS(refused("train: {optimizer: {rate: 3}}"), "train.optimizer");
  EXPECT_CONTAINS(refused("train: {epochs: 0}"), "epochs is 0; at least 1 is needed");
  EXPECT_CONTAINS(refused("train: {schedule: {name: cosin}}"), "unknown schedule 'cosin'; did you mean 'cosine'?");
  EXPECT_CONTAINS(refused("train: {ema: 1.5}"), "ema is 1.5");
  EXPECT_CONTAINS(refused("train: {loop: lern}"), "unknown training loop 'lern'; did you mean 'learn'?");
  EXPECT_CONTAINS(refused("train: {loop: mmrazor.QATValLoop}"), "is no training loop; 'val_float: true' does");
  EXPECT_CONTAINS(refused("train: {loop: PTQLoop}"), "is no training loop; 'quench quantize' does");
  EXPECT_CONTAINS(refused("train: {loop_options: {alpha: 1}}"),
                  "unknown option 'alpha' of training loop 'learn'; there are none");
  EXPECT_CONTAINS(refused("train: {optimizer: {name: adan}}"), "unknown optimizer 'adan'; did you mean 'adam'?");
  EXPECT_CONTAINS(refused("train: {metric: top11}"), "unknown metric 'top11'");
  EXPECT_CONTAINS(refused("train: {schedule: {warmup_epochs: 1, warmup_steps: 5}}"), "the warm-up is given twice");
  EXPECT_CONTAINS(refused("train: {dynamic_intervals: [1, 2]}"), "list of pairs");
}

}  // namespace
}  // namespace quench
