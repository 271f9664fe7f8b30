// mmrazor's training keys, docs/config.md 4.
#include <algorithm>

#include "config/jobs.h"
#include "quench/train_loop.h"

namespace quench {
namespace {

const std::string kModel = "model: {type: mmrazor.MMArchitectureQuant}\n";

TrainOptions training_of(const std::string& text) {
  const JobConfig job = job_of(kModel + text);
  EXPECT_TRUE(job.train.has_value()) << text;
  expect_same_again(job);
  return job.train.value_or(TrainOptions());
}

bool has_note(const JobConfig& job, const std::string& part) {
  return std::any_of(job.notes.begin(), job.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
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

// From the first epoch on, which mmengine counts from 0.
TEST(MmrazorTrain, IntervalsMayBeginAtZero) {
  EXPECT_EQ(training_of("train_cfg: {type: LSQEpochBasedLoop, dynamic_intervals: [[0, 1], [5, 2]]}").dynamic_intervals,
            (std::vector<std::pair<int, int>>{{0, 1}, {5, 2}}));
}

class Blended : public TrainLoop {};
QUENCH_REGISTER_LOOP("blended_epoch", Blended, "of a test", {"my_alpha", 0.5, "a number"},
                     {"shape", "linear", "a word"})

TEST(MmrazorTrain, ALoopMayDeclareItsOwnOptions) {
  const std::string loop = "train_cfg: {type: mypackage.BlendedEpochBasedLoop, max_epochs: 2, ";
  const TrainOptions options = training_of(loop + "my_alpha: 0.25}");
  EXPECT_EQ(options.loop, "blended_epoch");
  EXPECT_EQ(options.loop_options, (Options{{"my_alpha", 0.25}, {"shape", "linear"}}));
  EXPECT_CONTAINS(refused(kModel + loop + "my_alfa: 0.25}"), "my_alpha");
  EXPECT_CONTAINS(refused(kModel + loop + "my_alpha: high}"),
                  "'my_alpha' of training loop 'blended_epoch' must be a number, not a word");
  EXPECT_CONTAINS(refused(kModel + "train_cfg: {type: LSQEpochBasedLoop, my_alpha: 1}"), "my_alpha");
}

TEST(MmrazorTrain, SaysWhichOptimizerIsUsedIfNoneIsNamed) {
  const std::string loop = kModel + "train_cfg: {type: LSQEpochBasedLoop, max_epochs: 1}\n";
  const std::string said = "SGD with lr 0.01, Nesterov momentum 0.9 and weight decay 0.0001";
  EXPECT_TRUE(has_note(job_of(loop + "optim_wrapper: {}"), said));
  EXPECT_TRUE(has_note(job_of(loop), said));
  EXPECT_FALSE(has_note(job_of(loop + "optim_wrapper: {optimizer: {type: Adam}}"), "SGD"));
  EXPECT_FALSE(has_note(job_of(loop, {"quench.train.optimizer.name=adam"}), "SGD"));
  EXPECT_FALSE(has_note(job_of(kModel + "test_cfg: {}"), "SGD"));
}

TEST(MmrazorTrain, EvaluationIsInFloat32) {
  const JobConfig job = job_of(kModel + "train_cfg: {type: LSQEpochBasedLoop, max_epochs: 1}\n" +
                               "val_cfg: {type: QATValLoop, fp16: true}\ntest_cfg: {type: PTQLoop, fp16: true}");
  EXPECT_TRUE(has_note(job, "'val_cfg.fp16': not used; evaluation runs in float32"));
  EXPECT_TRUE(has_note(job, "'test_cfg.fp16': not used"));
  for (const JobStage stage : {JobStage::kQuantize, JobStage::kTrain})
    EXPECT_EQ(message_of([&] { refuse_unbuilt(job, stage); }), "(no error)");
  EXPECT_CONTAINS(refused(kModel + "test_cfg: {type: mmrazor.PTQLoop, only_val: true}"),
                  "'quench eval MODEL.quench.onnx' does that");
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

// These loops count in epochs; max_iters cuts them short.
TEST(MmrazorTrain, StepsBesideEpochs) {
  const std::string loop = "train_cfg: {type: QATEpochBasedLoop, max_iters: 100";
  EXPECT_CONTAINS(refused(kModel + loop + "}"), "'train_cfg.max_iters' without 'max_epochs'");
  const TrainOptions options = training_of(loop + ", max_epochs: 5}\n");
  EXPECT_EQ(options.epochs, 5);
  EXPECT_EQ(options.max_steps, 100);
  EXPECT_CONTAINS(refused(kModel + loop + ", max_epochs: 5}\nparam_scheduler: {type: CosineAnnealingLR, end: 3}"),
                  "ends at epoch 3 of 5");
}

// mmengine's usual warm-up.
TEST(MmrazorTrain, WarmsUpInSteps) {
  const std::string loop = "train_cfg: {type: QATEpochBasedLoop, max_epochs: 10}\nparam_scheduler:\n";
  const TrainOptions options =
      training_of(loop +
                  "- {type: LinearLR, start_factor: 0.001, by_epoch: false, begin: 0, end: 500}\n"
                  "- {type: MultiStepLR, begin: 0, end: 10, by_epoch: true, milestones: [3, 6]}");
  EXPECT_EQ(options.schedule.warmup_steps, 500);
  EXPECT_EQ(options.schedule.warmup_epochs, 0);
  EXPECT_EQ(options.schedule.warmup_start, 0.001);
  EXPECT_EQ(options.schedule.name, "multi_step");
  EXPECT_CONTAINS(refused(kModel + loop + "- {type: LinearLR, by_epoch: false}"), "needs 'end', in steps");
  EXPECT_CONTAINS(refused(kModel + loop + "- {type: CosineAnnealingLR, by_epoch: false}"),
                  "'by_epoch: false' is for LinearLR");
}

// One warm-up and one shape after it, until the last epoch: what else mmengine can chain is refused, or noted.
TEST(MmrazorTrain, SchedulesThatMeanSomethingElseAreRefused) {
  const std::string loop = kModel + "train_cfg: {type: QATEpochBasedLoop, max_epochs: 10}\nparam_scheduler:\n";
  const std::string warmup = "- {type: LinearLR, end: 2}\n";
  EXPECT_CONTAINS(refused(loop + "- {type: CosineAnnealingLR, T_max: 5, end: 5}"),
                  "CosineAnnealingLR ends at epoch 5 of 10: a schedule lasts until the last epoch");
  EXPECT_CONTAINS(refused(loop + "- {type: StepLR, step_size: 3}\n- {type: CosineAnnealingLR, T_max: 10}"),
                  "a second schedule, CosineAnnealingLR beside StepLR");
  EXPECT_CONTAINS(refused(loop + warmup + warmup), "a second LinearLR");
  EXPECT_CONTAINS(refused(loop + "- {type: CosineAnnealingLR, begin: 4}\n" + warmup),
                  "begins at epoch 4, where no warm-up ends: begin it at 2");
  EXPECT_CONTAINS(refused(loop + "- {type: StepLR, step_size: 3, begin: 1}"), "use MultiStepLR");
  const JobConfig chained = job_of(loop + warmup + "- {type: CosineAnnealingLR, T_max: 10}");
  EXPECT_TRUE(has_note(chained, "falls from the end of the warm-up on, not from epoch 0"));
  EXPECT_FALSE(has_note(job_of(loop + warmup + "- {type: CosineAnnealingLR, T_max: 8, begin: 2, end: 10}"), "Cosine"));
  EXPECT_EQ(job_of(loop + "- {type: MultiStepLR, milestones: [2, 4], begin: 3}").train->schedule.milestones,
            (std::vector<double>{5, 7}));
}

TEST(MmrazorTrain, GradientsAreClippedByTheirNorm) {
  const std::string loop = kModel + "train_cfg: {type: QATEpochBasedLoop, max_epochs: 1}\noptim_wrapper: {clip_grad: ";
  EXPECT_EQ(job_of(loop + "{max_norm: 2, norm_type: 2}}").train->clip_norm, 2);
  EXPECT_CONTAINS(refused(loop + "{max_norm: 2, norm_type: 1}}"), "by their L2 norm (max_norm) only");
  EXPECT_CONTAINS(refused(loop + "{type: value, clip_value: 2}}"), "by their L2 norm (max_norm) only");
  EXPECT_CONTAINS(refused(loop + "{norm_type: 2}}"), "needs 'max_norm'");
}

TEST(MmrazorTrain, ResumingIsTheCommandLinesToSay) {
  const std::string loop = kModel + "train_cfg: {type: QATEpochBasedLoop, max_epochs: 1}\n";
  EXPECT_TRUE(has_note(job_of(loop + "resume: true"), "QuantizeOptions::resume continues an interrupted run"));
  EXPECT_FALSE(has_note(job_of(loop + "resume: false"), "resume"));
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
  EXPECT_TRUE(has_note(job_of(model, {"model.architecture.type=FasterRCNN"}), "of an ImageClassifier"));
  EXPECT_EQ(job_of(model, {"model.architecture.type=mmcls.ImageClassifier"}).model, job_of(model).model);
  EXPECT_EQ(job_of(model, {"model.float_checkpoint=https://example.org/r18.pth"}).model, "");
}

TEST(MmrazorTrain, AnArchitectureIsNamedAsTheZooNamesIt) {
  const JobConfig job =
      job_of("model: {type: MMArchitectureQuant, architecture: resnet20_cifar, float_checkpoint: r20.pth}");
  EXPECT_EQ(job.model, "zoo:resnet20_cifar?weights=r20.pth");
  EXPECT_TRUE(job.kept.empty()) << job.kept.front().key;  // what is kept is said to have no effect
  EXPECT_EQ(job_of("architecture: resnet20_cifar\nfloat_checkpoint: r20.pth\ntest_cfg: {}\n" + kModel).model,
            job.model);
  EXPECT_TRUE(has_note(job_of("model: {type: MMArchitectureQuant, architecture: resnet21_cifar, float_checkpoint: r}"),
                       "unknown zoo model 'resnet21_cifar'"));
}

TEST(MmrazorTrain, SaysWhatAnArchitectureLacks) {
  const JobConfig job = job_of("model: {type: MMArchitectureQuant, architecture: resnet20_cifar}\nload_from: r20.pth");
  EXPECT_EQ(job.model, "");
  EXPECT_TRUE(has_note(job, "'architecture' is not used: it needs 'float_checkpoint'"));
  EXPECT_TRUE(has_note(job, "'load_from': not used"));
  EXPECT_EQ(job.kept.size(), 1U);
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
