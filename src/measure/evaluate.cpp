#include "quench/evaluate.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>

#include "data/feed.h"
#include "data/top_classes.h"
#include "kernels/device_copy.h"
#include "measure/fast_run.h"
#include "measure/gather_results.h"
#include "quench/distributed.h"
#include "quench/error.h"
#include "quench/executor.h"

namespace quench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void score_images(const at::Tensor& output, const Batch& batch, EvalResult& result) {
  const auto count = static_cast<std::int64_t>(batch.labels.size());
  QUENCH_CHECK(output.dim() >= 2, "the model's first output has the shape ", output.sizes(),
               "; logits of [batch, classes] were expected");
  const at::Tensor logits = output.narrow(0, 0, count).to(at::kCPU, at::kFloat).flatten(1).contiguous();
  const std::int64_t classes = logits.size(1);
  QUENCH_CHECK(classes >= 2, "the model's first output has ", classes, " class; at least 2 were expected");
  const std::vector<std::vector<RankedClass>> ranked = top_classes(logits, 5);
  for (std::size_t at = 0; at < ranked.size(); ++at) {
    const std::vector<RankedClass>& top = ranked[at];
    const std::int64_t label = batch.labels[at];
    QUENCH_CHECK(result.task == Task::kNone || (label >= 0 && label < classes), "image '", batch.names[at],
                 "' has label ", label, ", but the model has ", classes, " classes");
    QUENCH_CHECK(!std::isnan(top[0].logit), "the model gives NaN for image '", batch.names[at], "'");
    result.correct += top[0].index == label ? 1 : 0;
    for (const RankedClass& one : top) result.correct5 += one.index == label ? 1 : 0;
    result.predictions.push_back(
        {batch.indices[at], batch.names[at], label, top[0].index, top[1].index, top[0].logit, top[1].logit});
  }
  result.images += count;
}

// Position t predicts token t + 1; what follows a text's real tokens is not scored.
void score_texts(const at::Tensor& output, const at::Tensor& tokens, const Batch& batch, EvalResult& result,
                 std::vector<TextLoss>& texts) {
  const std::int64_t length = tokens.size(1);
  QUENCH_CHECK(output.dim() == 3 && output.size(1) == length, "the model's first output has the shape ", output.sizes(),
               "; logits of [batch, ", length, ", vocabulary] were expected");
  for (std::size_t i = 0; i < batch.lengths.size(); ++i) {
    const std::int64_t targets = batch.lengths[i] - 1;
    ++result.texts;
    if (targets < 1) continue;
    const auto row = static_cast<std::int64_t>(i);
    const at::Tensor logits = output[row].narrow(0, 0, targets).to(at::kCPU, at::kFloat);
    const at::Tensor target = tokens[row].narrow(0, 1, targets).to(at::kLong).unsqueeze(1);
    QUENCH_CHECK(target.max().item<std::int64_t>() < logits.size(1), "text '", batch.names[i], "' holds token ",
                 target.max().item<std::int64_t>(), ", but the model knows ", logits.size(1), " tokens");
    const at::Tensor losses = -logits.log_softmax(1).gather(1, target);
    texts.push_back({batch.indices[i], losses.to(at::kDouble).sum().item<double>()});
    QUENCH_CHECK(!std::isnan(texts.back().loss), "the model gives NaN for text '", batch.names[i], "'");
    result.tokens += targets;
  }
}

// The graph as it is, or in its fastest form.
std::function<RtValue(const NamedValues&)> runner(const Graph& graph, const EvalOptions& options) {
  if (options.optimize) {
    const auto fast = std::make_shared<FastRun>(graph, options.device);
    return [fast](const NamedValues& inputs) { return fast->run(inputs); };
  }
  ExecOptions exec;
  exec.device = options.device;
  const auto executor = std::make_shared<Executor>(graph, exec);
  return [executor, name = graph.outputs()[0]->name()](const NamedValues& inputs) {
    return executor->run(inputs, {name}).at(name);
  };
}

FeedOptions feed_options(const EvalOptions& options) {
  FeedOptions how;
  how.batch = options.batch;
  how.workers = options.workers;
  how.skip_broken = options.skip_broken;
  how.part = options.processes ? options.processes->rank() : 0;
  how.parts = options.processes ? options.processes->size() : 1;
  return how;
}

// Batches and their results, one behind the other: on a GPU a batch is scored while the next one is computed.
class Scoring {
 public:
  Scoring(const Feed& feed, const EvalOptions& options, EvalResult& result)
      : feed_(feed), options_(options), result_(result), tokens_(feed.data().token_input()) {}

  void add(Fed fed, const at::Tensor& logits) {
    const bool is_here = logits.is_cpu();
    Waiting next{std::move(fed), Download(logits)};
    finish();
    waiting_ = std::move(next);
    if (is_here) finish();
  }

  void finish() {
    if (!waiting_) return;
    const auto before = Clock::now();
    const at::Tensor logits = waiting_->logits.wait();
    result_.model_seconds += seconds_since(before);
    const Fed& fed = waiting_->fed;
    if (result_.task == Task::kNextToken)
      score_texts(logits, fed.batch.inputs.at(tokens_).tensor(), fed.batch, result_, texts);
    else
      score_images(logits, fed.batch, result_);
    done_ += fed.items;
    if (options_.progress) options_.progress(done_, feed_.size());
    waiting_.reset();
  }

  std::vector<TextLoss> texts;

 private:
  struct Waiting {
    Fed fed;
    Download logits;
  };
  const Feed& feed_;
  const EvalOptions& options_;
  EvalResult& result_;
  const std::string tokens_;
  std::optional<Waiting> waiting_;
  std::int64_t done_ = 0;
};

}  // namespace

EvalResult evaluate(const Graph& graph, const Dataset& data, const EvalOptions& options) {
  EvalResult result;
  result.task = data.task();
  const auto run = runner(graph, options);
  const auto start = Clock::now();
  Feed feed(graph, data, feed_options(options));
  result.batch = feed.batch_size();
  Scoring scoring(feed, options, result);
  while (std::optional<Fed> fed = feed.next()) {
    const auto before = Clock::now();
    const at::Tensor logits = run(fed->inputs).tensor();
    result.model_seconds += seconds_since(before);
    scoring.add(std::move(*fed), logits);
  }
  scoring.finish();
  result.skipped = feed.skipped();
  if (options.processes) gather_results(*options.processes, result, scoring.texts);
  for (const TextLoss& text : scoring.texts) result.log_loss += text.loss;
  result.seconds = seconds_since(start);
  const bool scored = result.images + result.texts > 0;
  QUENCH_CHECK(result.task != Task::kNextToken || result.tokens > 0 || !scored,
               "no text has two tokens: there is nothing to score");
  QUENCH_CHECK(scored, "no item of the data could be used (", result.skipped.size(), " broken)");
  return result;
}

double EvalResult::top1() const { return static_cast<double>(correct) / static_cast<double>(images); }
double EvalResult::top5() const { return static_cast<double>(correct5) / static_cast<double>(images); }
double EvalResult::perplexity() const { return std::exp(log_loss / static_cast<double>(tokens)); }

}  // namespace quench
