// Accuracy of a graph on a data set: top-1 and top-5 for labelled images, perplexity for texts, predictions alone for
// what has no labels.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quench/data.h"
#include "quench/graph.h"

namespace quench {

class Processes;

// One image's result: enough to compare two runs image by image and to see how close a prediction was.
struct Prediction {
  std::int64_t index = 0;  // in the data set
  std::string name;
  std::int64_t label = -1;
  std::int64_t first = -1, second = -1;  // the classes of the two largest logits
  double first_logit = 0.0, second_logit = 0.0;
  bool operator==(const Prediction& other) const = default;
};

struct EvalOptions {
  std::int64_t batch = 0;  // 0: the model's own where it is fixed, else 32
  int workers = 1;         // decoding threads
  bool skip_broken = false;
  bool optimize = false;  // in its fastest form: passes first, then the engine where there is one (quench/engine.h)
  std::string device = "cpu";
  const Processes* processes = nullptr;  // each takes its share of the batches, and all have the whole result
  std::function<void(std::int64_t done, std::int64_t total)> progress;  // after each batch
};

struct EvalResult {
  Task task = Task::kNone;
  std::int64_t images = 0, correct = 0, correct5 = 0;  // kClassify; of kNone the images alone
  std::int64_t texts = 0, tokens = 0;                  // kNextToken: tokens that were scored
  double log_loss = 0.0;                               // kNextToken: sum of -log p over them, natural
  double seconds = 0.0;                                // reading included, once the first batch has begun
  double model_seconds = 0.0;                          // inside the model alone
  std::int64_t batch = 0;
  std::vector<Prediction> predictions;  // kClassify and kNone, in order of the data set
  std::vector<std::string> skipped;     // one message per broken item

  double top1() const;
  double top5() const;
  double perplexity() const;
};

// Runs the whole data set through the graph; its first output holds the logits. Of equal logits the one of
// the lowest class counts as the largest. Data without labels gives only predictions: two runs can be compared.
EvalResult evaluate(const Graph& graph, const Dataset& data, const EvalOptions& options = {});

}  // namespace quench
