#include "qat/training_notes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/files.h"
#include "qat/quarters_net.h"
#include "support/expect_error.h"

namespace quench {
namespace {

// Its first BatchNormalization has one channel with gamma 0.
QuantizedModel with_dead_channel() {
  Graph graph = net();
  const auto norm = std::find_if(graph.nodes().begin(), graph.nodes().end(),
                                 [](const auto& node) { return node->op() == "BatchNormalization"; });
  at::Tensor((*norm)->input(1)->tensor()).detach()[2] = 0;
  QuantConfig config;
  config.platform = "tensorrt_qdq";
  QuantizedModel model = prepare(graph, config, live());
  calibrate(model, items());
  return model;
}

bool notes_channel(const TrainRecord& record) {
  return std::any_of(record.notes.begin(), record.notes.end(), [](const std::string& note) {
    return note.find("channels 2 have a BatchNorm factor near 0") != std::string::npos;
  });
}

TEST(TrainingNotes, NameChannelsThatNeededTheGuard) {
  QuantizedModel dead = with_dead_channel(), sound = calibrated();
  TrainOptions options = quick();
  options.max_steps = 1;
  options.optimizer.lr = 1e-12;
  EXPECT_TRUE(notes_channel(train(dead, {items()}, options)));
  EXPECT_FALSE(notes_channel(train(sound, {items()}, options)));
}

TEST(TrainingNotes, CountDropoutThatIsGone) {
  Graph graph;
  Value& x = graph.add_input("x");
  Node& first = graph.add("Dropout", "first", {&x});
  graph.add_output(graph.add("Dropout", "second", {&first.output()}).output());
  EXPECT_EQ(dropout_note(graph, graph), "");
  EXPECT_EQ(dropout_note(graph, Graph()), "2 Dropout nodes taken out of the network: it trains without dropout");
}

TEST(TrainingNotes, SayThatTheWarmUpDoesNotEnd) {
  TrainOptions options = quick();
  options.epochs = 2;
  options.schedule.warmup_steps = 20;
  EXPECT_EQ(warmup_note(options, 10), "");
  options.max_steps = 12;
  options.optimizer.lr = 0.5;
  EXPECT_EQ(warmup_note(options, 10),
            "the warm-up takes 20 steps, and training 12: the learning rate never reaches 0.5");
  options.schedule.warmup_steps = 0;
  options.schedule.warmup_epochs = 1.5;
  EXPECT_CONTAINS(warmup_note(options, 10), "the warm-up takes 15 steps, and training 12");
  EXPECT_EQ(warmup_note(quick(), 10), "");
}

// A network that reads exactly 8 images at a time.
TEST(TrainingNotes, SayThatTheModelFixesItsBatch) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {8, 1, 12, 12}));
  graph.add_output(graph.add("Flatten", "flat", {&x}).output());
  EXPECT_EQ(fixed_batch_note(graph, items(), 8), "");
  EXPECT_CONTAINS(
      fixed_batch_note(graph, items(), 32),
      "the model fixes its batch at 8: a step takes 8 images, not 32, which calls for a lower learning rate");
  EXPECT_CONTAINS(fixed_batch_note(graph, items(), 4), "not 4, which calls for a higher learning rate");
  EXPECT_EQ(fixed_batch_note(untrained(), items(), 32), "");
}

TEST(TrainingNotes, NameOptionsWithoutEffect) {
  EXPECT_EQ(idle_options_note({}, true), "");
  EXPECT_EQ(idle_options_note({}, false), "");
  TrainOptions options;
  options.schedule.gamma = 0.2;
  EXPECT_EQ(idle_options_note(options, true), "'schedule.gamma' has no effect with the other options of training");
  options.schedule.name = "step";
  EXPECT_EQ(idle_options_note(options, true), "");
  options.optimizer.name = "adam";
  options.optimizer.momentum = 0.5;
  options.disable_observer_begin = 2;
  options.val_interval = 3;
  EXPECT_EQ(idle_options_note(options, false),
            "'optimizer.momentum', 'disable_observer_begin' have no effect with the other options of training; "
            "'val_interval' has no effect without validation data");
}

TrainRecord record_of(std::optional<double> start, const std::vector<TrainEpoch>& epochs, int best) {
  TrainRecord record;
  record.start = start;
  record.epochs = epochs;
  record.best_epoch = best;
  return record;
}

TrainEpoch epoch_of(int number, double loss, std::optional<double> score) {
  TrainEpoch epoch;
  epoch.epoch = number;
  epoch.loss = loss;
  epoch.quantized = score;
  return epoch;
}

TEST(TrainingNotes, WarnWhereTrainingDidNotHelp) {
  const TrainOptions options;
  const auto said = [&](const TrainRecord& record) { return worse_warning(record, options); };
  EXPECT_CONTAINS(said(record_of(0.9, {epoch_of(1, 1.0, 0.8)}, 0)), "no epoch was better on the validation data");
  EXPECT_EQ(said(record_of(0.9, {epoch_of(1, 1.0, 0.91)}, 1)), "");
  EXPECT_CONTAINS(said(record_of(0.9, {epoch_of(1, 1.0, 0.8)}, 1)),
                  "worse on the validation data");  // keep_best: false
  EXPECT_CONTAINS(said(record_of({}, {epoch_of(1, 1.0, {}), epoch_of(2, 1.5, {})}, 2)),
                  "the training loss rose from 1 in the first epoch to 1.5 in the last one");
  EXPECT_EQ(said(record_of({}, {epoch_of(1, 0.0039, {}), epoch_of(2, 0.0048, {})}, 2)), "");
  EXPECT_CONTAINS(said(record_of(0.9, {epoch_of(1, 1.0, 0.7), epoch_of(2, 0.5, 0.8)}, 0)),
                  "the training loss still falls, from 1 to 0.5. Train for longer");
  EXPECT_CONTAINS(said(record_of({}, {epoch_of(1, 1.0, {}), epoch_of(2, 1.5, {})}, 2)), "rate below 0.01");
  EXPECT_CONTAINS(said(record_of(0.9, {epoch_of(1, 1.0, 0.7), epoch_of(2, 0.3, 0.8), epoch_of(3, 0.5, 0.7)}, 0)),
                  "rate below 0.01");  // it has begun to rise
  EXPECT_EQ(said(record_of({}, {epoch_of(1, 1.0, {}), epoch_of(2, 0.5, {})}, 2)), "");
  EXPECT_EQ(said(record_of({}, {}, 0)), "");
}

}  // namespace
}  // namespace quench
