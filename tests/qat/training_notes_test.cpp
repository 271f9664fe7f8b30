#include "qat/training_notes.h"

#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace
}  // namespace quench
