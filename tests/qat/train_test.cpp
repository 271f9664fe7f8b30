// train(): learns, ends in the same bits however often it is interrupted, and leaves a model that deploys what it
// trained.
#include "quench/train.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/atomic_file.h"
#include "data/files.h"
#include "qat/quarters_net.h"
#include "quench/convert.h"
#include "quench/evaluate.h"
#include "quench/executor.h"
#include "quench/import.h"
#include "quench/train_loop.h"
#include "support/expect_error.h"

namespace quench {
namespace {

TEST(Train, LearnsAndSaysSo) {
  QuantizedModel model = calibrated();
  TrainOptions options = quick();
  options.augment = {};
  const TrainRecord record = train(model, {items(), &others()}, options);
  EXPECT_EQ(model.stage, ModelStage::kTrained);
  ASSERT_EQ(record.epochs.size(), 3U);
  EXPECT_EQ(record.steps, 3 * 8);
  EXPECT_LT(record.epochs[2].loss, 0.9 * record.epochs[0].loss);
  double best = record.start.value();
  for (const TrainEpoch& one : record.epochs) best = std::max(best, one.quantized.value());
  EXPECT_GT(best, 0.7);  // chance is 0.25
  EXPECT_GT(record.best_epoch, 0);
  EXPECT_EQ(evaluate(model.graph, others()).top1(), best);
  for (const Value* value : model.graph.parameters()) EXPECT_FALSE(value->tensor().grad().defined()) << value->name();
}

TEST(Train, SameSeedSameBitsAndAnotherSeedOthers) {
  QuantizedModel first = calibrated(), second = calibrated(), third = calibrated();
  TrainOptions options = quick();
  train(first, {items()}, options);
  train(second, {items()}, options);
  options.seed = 4;
  train(third, {items()}, options);
  EXPECT_TRUE(same_constants(first.graph, second.graph));
  EXPECT_FALSE(same_constants(first.graph, third.graph));
}

TEST(Train, ANetworkWithoutQuantizersTrainsInFloat) {
  Graph graph = untrained(), again = untrained();
  TrainOptions options = quick();
  options.augment = {};
  const TrainRecord record = train_float(graph, {items(), &others()}, options);
  EXPECT_LT(record.epochs.back().loss, 0.8 * record.epochs.front().loss);
  const EvalResult result = evaluate(graph, others());
  EXPECT_EQ(result.top1(), record.epochs[static_cast<std::size_t>(record.best_epoch - 1)].quantized.value());
  EXPECT_GT(result.top1(), evaluate(untrained(), others()).top1());
  train_float(again, {items(), &others()}, options);
  EXPECT_TRUE(same_constants(graph, again));
  Graph quantized = calibrated().graph;
  EXPECT_ERROR(train_float(quantized, {items()}, options), "the network has quantizers: use train()");
}

// A rate of nothing but noise: no epoch can beat what training started from.
TEST(Train, WhatItStartedFromIsKeptIfNoEpochIsBetter) {
  QuantizedModel model = calibrated();
  const QuantizedModel start(model.graph.clone(), model.plan, model.stage);
  TrainOptions options = quick();
  options.optimizer.lr = 3.0;
  options.optimizer.scale_lr = 0.0;
  double measured = -1;
  options.start_measured = [&](double score) { measured = score; };
  const TrainRecord record = train(model, {items(), &others()}, options);
  ASSERT_TRUE(record.start.has_value());
  EXPECT_EQ(*record.start, measured);
  for (const TrainEpoch& one : record.epochs) ASSERT_LT(*one.quantized, *record.start);
  EXPECT_EQ(record.best_epoch, 0);
  EXPECT_EQ(evaluate(model.graph, others()).top1(), *record.start);
  options.keep_best = false;
  QuantizedModel last(start.graph.clone(), start.plan, start.stage);
  EXPECT_EQ(train(last, {items(), &others()}, options).best_epoch, 3);
}

// A loop whose quantizers follow observers leaves those alone that learn, once the first batch has given them a scale:
// they learn with a rate, and without one they stay.
TEST(Train, ScalesThatLearnDoNotFollowObservers) {
  const auto scale_after = [](int steps, double rate) {
    QuantizedModel model = prepared("lsq");
    TrainOptions options = quick();
    options.loop = "qat_epoch";
    options.max_steps = steps;
    options.optimizer.lr = 0.02;
    options.optimizer.scale_lr = rate;
    train(model, {items()}, options);
    return quantizers_of(model.graph).front()->input(1)->tensor().detach().clone();
  };
  EXPECT_TRUE(at::equal(scale_after(1, 0.0), scale_after(6, 0.0)));
  EXPECT_FALSE(at::equal(scale_after(1, 0.01), scale_after(6, 0.01)));
}

// Asked to stop after any step, it leaves a checkpoint of that very step.
TEST(Train, StopsWhereItIsAskedToAndGoesOnFromThere) {
  QuantizedModel whole = calibrated();
  train(whole, {items(), &others()}, quick());
  const TempFolder folder;
  for (const int stop_after : {0, 3, 8, 9}) {
    TrainOptions options = quick();
    options.folder = folder.path(concat("stop", stop_after));
    QuantizedModel model = calibrated();
    int done = 0;
    options.progress = [&](std::int64_t, std::int64_t, double) { ++done; };
    options.stop = [&] { return done >= stop_after; };
    EXPECT_ERROR(train(model, {items(), &others()}, options),
                 concat("training was interrupted after step ", stop_after, " of 24"));
    QuantizedModel again = calibrated();
    options.stop = {};
    options.resume = true;
    const TrainRecord record = train(again, {items(), &others()}, options);
    EXPECT_EQ(record.resumed_from, stop_after);
    EXPECT_TRUE(same_constants(whole.graph, again.graph)) << stop_after;
  }
}

// Who is asked begins to listen then: that must come ahead of all work. What comes in while the start is measured is
// answered before a step is made.
TEST(Train, ListensBeforeItsFirstStep) {
  QuantizedModel model = calibrated();
  TrainOptions options = quick();
  bool was_asked = false, is_measured = false;
  options.stop = [&] { return std::exchange(was_asked, true) && is_measured; };
  options.batch = 0;
  EXPECT_ERROR(train(model, {items(), &others()}, options), "batch");
  EXPECT_TRUE(was_asked);
  options.batch = quick().batch;
  options.start_measured = [&](double) { is_measured = true; };
  EXPECT_ERROR(train(model, {items(), &others()}, options), "training was interrupted after step 0 of 24");
}

struct Killed {};

// Interrupted at any step, with every part that has state of its own.
TEST(Train, ResumesToTheSameBits) {
  for (const std::string loop : {"learn", "qat_epoch", "lsq_epoch"}) {
    TrainOptions options = quick();
    options.loop = loop;
    options.ema = 0.9;
    options.freeze_bn_begin = 3;
    options.checkpoint_every = 1;
    options.optimizer.name = loop == "learn" ? "adam" : "sgd";
    const auto made = [&] { return loop == "learn" ? calibrated() : prepared(loop == "lsq_epoch" ? "lsq" : "fixed"); };
    QuantizedModel whole = made();
    const TempFolder folder;
    options.folder = folder.path("whole");
    const TrainRecord unbroken = train(whole, {items(), &others()}, options);
    options.folder = folder.path("parts");
    options.resume = true;
    for (const std::int64_t last : {1, 8, 13, 22}) {
      options.progress = [last](std::int64_t done, std::int64_t, double) {
        if (done > last) throw Killed();
      };
      QuantizedModel part = made();
      try {
        train(part, {items(), &others()}, options);
        ADD_FAILURE() << "was not interrupted after step " << last;
      } catch (const Killed&) {
      }
    }
    options.progress = {};
    QuantizedModel resumed = made();
    const TrainRecord record = train(resumed, {items(), &others()}, options);
    EXPECT_GT(record.resumed_from, 20) << loop;
    EXPECT_TRUE(same_constants(whole.graph, resumed.graph)) << loop;
    EXPECT_EQ(record.best_epoch, unbroken.best_epoch) << loop;
    for (std::size_t i = 0; i < record.epochs.size(); ++i)
      EXPECT_EQ(record.epochs[i].quantized, unbroken.epochs[i].quantized) << loop << " epoch " << i + 1;
  }
}

TEST(Train, WhatKilledOnesLeftHalfWrittenIsRemoved) {
  const TempFolder folder;
  TrainOptions options = quick();
  options.folder = folder.path("run");
  options.epochs = 1;
  for (const bool resume : {false, true}) {
    std::filesystem::create_directories(options.folder);
    for (const char* file : {"checkpoint.safetensors.partial-22489-25", "best.safetensors.partial-7-0"})
      write_file_atomically((std::filesystem::path(options.folder) / file).string(), "half");
    options.resume = resume;
    QuantizedModel model = calibrated();
    train(model, {items()}, options);
    for (const auto& entry : std::filesystem::directory_iterator(options.folder))
      EXPECT_EQ(entry.path().string().find(".partial-"), std::string::npos) << entry.path();
  }
}

TEST(Train, RefusesTheCheckpointOfAnotherJob) {
  const TempFolder folder;
  TrainOptions options = quick();
  options.folder = folder.path("run");
  options.epochs = 1;
  QuantizedModel model = calibrated(), again = calibrated();
  train(model, {items()}, options);
  options.resume = true;
  options.optimizer.lr = 0.01;
  EXPECT_ERROR(train(again, {items()}, options), "belongs to another training job");
  EXPECT_ERROR(check_resumes(again, {items()}, options), "belongs to another training job");
  options.optimizer.lr = quick().optimizer.lr;
  for (PlanEntry& entry : again.plan.entries) entry.rule += "; raised";  // as calibration does it
  EXPECT_NO_THROW(check_resumes(again, {items()}, options));
}

// The codes of the weights while training are those of the folded network and of the integers.
TEST(Train, WhatWasTrainedIsWhatIsConverted) {
  for (const int freeze : {0, 2}) {
    QuantizedModel model = calibrated();
    TrainOptions options = quick();
    options.freeze_bn_begin = freeze;
    train(model, {items()}, options);
    const Sample sample = others().get(5);
    const at::Tensor x = sample.inputs.tensor().unsqueeze(0);
    const at::Tensor simulated = Executor(model.graph).run({RtValue(x)})[0].tensor();
    QuantizedModel integers = convert(model);
    const at::Tensor converted = integers.run({RtValue(x)})[0].tensor();
    EXPECT_TRUE(at::allclose(simulated, converted, 0, 0.02 * simulated.abs().max().item<double>())) << freeze;
  }
}

TEST(Train, EveryFakeQuantizerTrains) {
  for (const std::string algorithm : {"fixed", "lsq", "lsq_plus", "pact", "dorefa", "dsq", "tqt"}) {
    QuantConfig config;
    config.platform = "academic";
    const bool weights_only = algorithm == "dorefa", activations_only = algorithm == "pact" || algorithm == "lsq_plus";
    config.weight.fake_quant = activations_only ? "lsq" : algorithm;
    config.activation.fake_quant = weights_only ? "lsq" : algorithm;
    config.weight.observer = config.activation.observer = "min_max";
    config.weight.bits = config.activation.bits = 4;
    config.weight.symmetric = true;
    config.activation.symmetric = algorithm == "tqt" || algorithm == "dsq";
    config.weight.granularity = config.activation.granularity = Granularity::kTensor;
    QuantizedModel model = prepare(net(), config, live());
    calibrate(model, items());
    TrainOptions options = quick();
    options.optimizer.scale_lr = 0.005;
    const TrainRecord record = train(model, {items(), &others()}, options);
    EXPECT_LT(record.epochs.back().loss, record.epochs.front().loss) << algorithm;
    EXPECT_GT(record.epochs.back().quantized.value(), 0.37) << algorithm;  // chance and three deviations of 128 items
  }
}

// The float model is the better teacher: without labels there is nothing else.
TEST(Train, LearnsFromTheFloatModelAlone) {
  const Graph teacher = net();
  QuantizedModel model = calibrated();
  TrainOptions options = quick();
  options.distill.weight = 1;
  options.epochs = 2;
  const auto unlabelled = dataset_of(64, [](std::int64_t i) { return Sample{items().get(i).inputs}; });
  EXPECT_ERROR(train(model, {*unlabelled}, quick()), "the training data has no labels");
  EXPECT_ERROR(train(model, {*unlabelled}, options), "no float model was given");
  const TrainRecord record = train(model, {*unlabelled}, options, &teacher);
  EXPECT_LT(record.epochs[1].loss, record.epochs[0].loss);
}

// Convolutions and products alone: what learns stays float32, and learns.
TEST(Train, LearnsInBfloat16) {
  TrainOptions options = quick();
  options.keep_best = false;
  QuantizedModel wide = calibrated(), narrow = calibrated();
  const TrainRecord one = train(wide, {items(), &others()}, options);
  options.bf16 = true;
  const TrainRecord other = train(narrow, {items(), &others()}, options);
  EXPECT_LT(other.epochs.back().loss, other.epochs.front().loss);
  // 8 bits of precision: another loss, but not by more than a few of its last digits.
  EXPECT_NE(other.epochs.front().loss, one.epochs.front().loss);
  EXPECT_NEAR(other.epochs.front().loss, one.epochs.front().loss, 0.1 * one.epochs.front().loss);
  for (const Value* value : narrow.graph.parameters()) EXPECT_EQ(value->tensor().scalar_type(), at::kFloat);
}

TEST(Train, AveragesOfWeightsAreKept) {
  QuantizedModel plain = calibrated(), averaged = calibrated();
  TrainOptions options = quick();
  options.epochs = 1;
  train(plain, {items()}, options);
  options.ema = 0.99;
  train(averaged, {items()}, options);
  EXPECT_FALSE(same_constants(plain.graph, averaged.graph));
}

TEST(Train, SaysWhatIsWrong) {
  QuantizedModel model = prepared("lsq");
  EXPECT_ERROR(train(model, {items()}, quick()), "the model is not calibrated, and the loop 'learn' finds no scales");
  model = calibrated();
  TrainOptions options = quick();
  options.loop = "lern";
  EXPECT_ERROR(train(model, {items()}, options), "unknown training loop 'lern'; did you mean 'learn'?");
  options = quick();
  options.optimizer.name = "rmsprop";
  EXPECT_ERROR(train(model, {items()}, options), "unknown optimizer 'rmsprop'");
  options = quick();
  options.metric = "accuracy";
  EXPECT_ERROR(train(model, {items()}, options), "unknown metric 'accuracy'");
  options = quick();
  options.loop_options = {{"alpha", 1.0}};
  EXPECT_ERROR(train(model, {items()}, options), "unknown option 'alpha' of training loop 'learn'; there are none");
  options = quick();
  options.optimizer.lr = 1e30;
  EXPECT_ERROR(train(model, {items()}, options), "try a lower learning rate");
  options = quick();
  options.resume = true;
  EXPECT_ERROR(train(model, {items()}, options), "to resume, the folder");
}

// A user's own loop sees what mmrazor's do, in the same order.
std::string g_events;
double g_option = 0.0;
class Watching : public TrainLoop {
 public:
  void prepare_for_run_epoch(Training& training) override {
    g_events += "p" + std::to_string(training.epoch());
    training.set_flags({.quantize = true});
    g_option = training.options().loop_options.number("alpha");
  }
  void run_epoch(Training& training) override {
    while (training.run_batch()) g_events += ".";
  }
  void prepare_for_val(Training& training) override {
    g_events += "v";
    TrainLoop::prepare_for_val(training);
  }
};
QUENCH_REGISTER_LOOP("watching", Watching, "of a test", {"alpha", 0.5, "its own"})

TEST(Train, LoopsRunInMmrazorsOrder) {
  QuantizedModel model = calibrated();
  TrainOptions options = quick();
  options.loop = "watching";
  options.epochs = 2;
  options.batch = 128;
  train(model, {items()}, options);
  EXPECT_EQ(g_events, "p1..vp2..vv");
}

TEST(Train, ALoopReadsItsOwnOptions) {
  QuantizedModel model = calibrated();
  TrainOptions options = quick();
  options.loop = "watching";
  options.max_steps = 1;
  train(model, {items()}, options);
  EXPECT_EQ(g_option, 0.5);
  options.loop_options = {{"alpha", 0.25}};
  train(model, {items()}, options);
  EXPECT_EQ(g_option, 0.25);
}

}  // namespace
}  // namespace quench
