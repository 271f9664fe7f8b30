// mmrazor's training keys, docs/config.md 4.
#include "config/jobs.h"

namespace quench {
namespace {

const std::string kModel = "model: {type: mmrazor.MMArchitectureQuant}\n";

TrainOptions training_of(const std::string& text) {
  const JobConfig job = job_of(kModel + text);
  EXPECT_TRUE(job.train.has_value()) << text;
  expect_same_again(job);
  return job.train.value_or(TrainOptions());
}

TEST(MmrazorTrain, ReadsTheLoop) {
  const TrainOptions options = training_of(
      "train_cfg: {type: mmrazor.LSQEpochBasedLoop, max_epochs: 12, val_begin: 2, val_interval: 3, freeze_bn_begin: 4, "
      "disable_observer_begin: -1, dynamic_intervals: [[8, 1]]}\nval_cfg: {type: mmrazor.QATValLoop}\n"
      "train_dataloader: {batch_size: 64}");
  EXPECT_EQ(options.loop, "lsq_epoch");
  EXPECT_EQ(options.epochs, 12);
  EXPECT_EQ(options.val_begin, 2);
  EXPECT_EQ(options.val_interval, 3);
  EXPECT_EQ(options.freeze_bn_begin, 4);
  EXPECT_EQ(options.disable_observer_begin, 0);
  EXPECT_EQ(options.dynamic_intervals, (std::vector<std::pair<int, int>>{{8, 1}}));
  EXPECT_TRUE(options.val_float);
  EXPECT_FALSE(options.keep_best);
  EXPECT_EQ(options.batch, 64);
  EXPECT_EQ(training_of("train_cfg: {type: QATEpochBasedLoop, max_epochs: 1}").loop, "qat_epoch");
}

TEST(MmrazorTrain, ReadsOptimizerAndSchedule) {
  const std::string loop = "train_cfg: {type: QATEpochBasedLoop, max_epochs: 10}\n";
  const TrainOptions sgd = training_of(
      loop +
      "optim_wrapper: {optimizer: {type: SGD, lr: 0.004, momentum: 0.8, weight_decay: 0.001}, clip_grad: "
      "{max_norm: 5}}\nparam_scheduler:\n- {type: LinearLR, start_factor: 0.25, by_epoch: true, begin: 0, end: 2}\n"
      "- {type: CosineAnnealingLR, T_max: 8, eta_min: 0.0004, begin: 2, end: 10}");
  EXPECT_EQ(sgd.optimizer.name, "sgd");
  EXPECT_EQ(sgd.optimizer.lr, 0.004);
  EXPECT_EQ(sgd.optimizer.momentum, 0.8);
  EXPECT_FALSE(sgd.optimizer.nesterov);
  EXPECT_EQ(sgd.optimizer.weight_decay, 0.001);
  EXPECT_EQ(sgd.clip_norm, 5);
  EXPECT_EQ(sgd.schedule.name, "cosine");
  EXPECT_EQ(sgd.schedule.warmup_epochs, 2);
  EXPECT_EQ(sgd.schedule.warmup_start, 0.25);
  EXPECT_NEAR(sgd.schedule.end, 0.1, 1e-12);
  const TrainOptions adam = training_of(loop +
                                        "optim_wrapper: {optimizer: {type: AdamW, lr: 0.001, betas: [0.8, 0.9]}}\n"
                                        "param_scheduler: {type: MultiStepLR, milestones: [3, 6], gamma: 0.5}");
  EXPECT_EQ(adam.optimizer.name, "adamw");
  EXPECT_EQ(adam.optimizer.weight_decay, 0.01);  // torch's default
  EXPECT_EQ(adam.optimizer.beta1, 0.8);
  EXPECT_EQ(adam.schedule.milestones, (std::vector<double>{3, 6}));
}

TEST(MmrazorTrain, AnArchitectureWithACheckpointIsAModelOfTheZoo) {
  const std::string model =
      "model: {type: mmrazor.MMArchitectureQuant, float_checkpoint: r18.pth, architecture: {type: ImageClassifier, "
      "backbone: {type: mmcls.ResNet, depth: 18}, head: {type: LinearClsHead, num_classes: 10}}}";
  EXPECT_EQ(job_of(model).model, "zoo:resnet18?num_classes=10&weights=r18.pth");
  EXPECT_EQ(job_of(model, {"quench.model=other.onnx"}).model, "other.onnx");
  EXPECT_EQ(job_of(model, {"model.architecture.backbone.type=ResNet_CIFAR"}).model,
            "zoo:resnet18_cifar?num_classes=10&weights=r18.pth");
  const JobConfig other = job_of(model, {"model.architecture.backbone.depth=19"});
  EXPECT_EQ(other.model, "");
  EXPECT_CONTAINS(other.notes.front(), "the zoo has no ResNet with depth '19'");
  EXPECT_EQ(job_of(model, {"model.architecture.type=FasterRCNN"}).model, "");
  EXPECT_EQ(job_of(model, {"model.float_checkpoint=https://example.org/r18.pth"}).model, "");
}

TEST(MmrazorTrain, FloatLoopsAreNoTraining) {
  EXPECT_FALSE(job_of(kModel + "train_cfg: {type: EpochBasedTrainLoop, max_epochs: 10}").train.has_value());
}

TEST(MmrazorTrain, SaysWhatItDoesNotKnow) {
  const std::string loop = kModel + "train_cfg: {type: QATEpochBasedLoop, max_epochs: 10}\n";
  EXPECT_CONTAINS(refused(loop + "optim_wrapper: {optimizer: {type: LAMB}}"),
                  "unknown optimizer 'LAMB'; known: SGD, Adam, AdamW");
  EXPECT_CONTAINS(refused(loop + "param_scheduler: {type: PolyLR}"), "unknown schedule 'PolyLR'");
  EXPECT_CONTAINS(refused(kModel + "train_cfg: {type: LSQEpochBasedLoop, max_epoch: 10}"), "max_epochs");
}

}  // namespace
}  // namespace quench
