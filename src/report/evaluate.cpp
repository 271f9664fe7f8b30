#include "quench/evaluate.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "data/batch_size.h"
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
  const auto [values, indices] = logits.topk(std::min<std::int64_t>(5, classes), 1);
  const auto top = indices.accessor<std::int64_t, 2>();
  const auto logit = values.accessor<float, 2>();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t label = batch.labels[at];
    QUENCH_CHECK(label >= 0 && label < classes, "image '", batch.names[at], "' has label ", label,
                 ", but the model has ", classes, " classes");
    QUENCH_CHECK(!std::isnan(logit[i][0]), "the model gives NaN for image '", batch.names[at], "'");
    result.correct += top[i][0] == label ? 1 : 0;
    for (std::int64_t k = 0; k < indices.size(1); ++k) result.correct5 += top[i][k] == label ? 1 : 0;
    result.predictions.push_back(
        {batch.indices[at], batch.names[at], label, top[i][0], top[i][1], logit[i][0], logit[i][1]});
  }
  result.images += count;
}

// Position t predicts token t + 1; what follows a text's real tokens is not scored.
void score_texts(const at::Tensor& output, const Batch& batch, EvalResult& result) {
  const at::Tensor tokens = batch.inputs.tensor();
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
    result.log_loss += losses.to(at::kDouble).sum().item<double>();
    QUENCH_CHECK(!std::isnan(result.log_loss), "the model gives NaN for text '", batch.names[i], "'");
    result.tokens += targets;
  }
}

void score(const at::Tensor& output, const Batch& batch, EvalResult& result) {
  if (result.task == Task::kClassify)
    score_images(output, batch, result);
  else
    score_texts(output, batch, result);
}

ExecOptions exec_options(const EvalOptions& options) {
  ExecOptions exec;
  exec.channels_last = options.channels_last;
  exec.device = options.device;
  return exec;
}

}  // namespace

InputHint input_hint(const Graph& graph) {
  const Value& input = only_input(graph, "evaluation");
  InputHint hint;
  if (!input.has_rank()) return hint;
  const auto number = [&](std::size_t i) { return input.dims()[i].is_number() ? input.dims()[i].number() : -1; };
  if (input.rank() == 4) {
    hint.channels = number(1);
    hint.height = number(2);
    hint.width = number(3);
  }
  if (input.rank() == 2) hint.length = number(1);
  return hint;
}

EvalResult evaluate(const Graph& graph, const Dataset& data, const EvalOptions& options) {
  const Value& input = only_input(graph, "evaluation");
  EvalResult result;
  result.task = data.task();
  result.batch = choose_batch(input, options.batch);
  QUENCH_CHECK(result.task != Task::kNone, "the data has no labels: there is nothing to score against");

  Executor executor(graph, exec_options(options));
  LoadOptions load;
  load.batch_size = result.batch;
  load.workers = options.workers;
  load.skip_broken = options.skip_broken;
  const std::string output = graph.outputs()[0]->name();
  const auto start = Clock::now();
  Loader loader(data, load);
  std::int64_t done = 0;
  while (const std::optional<Batch> batch = loader.next()) {
    const at::Tensor inputs = batch->inputs.tensor();
    const at::Tensor fed = fill_up(input, inputs, result.batch);
    const auto before = Clock::now();
    const NamedValues outputs = executor.run({{input.name(), RtValue(fed, batch->inputs.dtype())}}, {output});
    result.model_seconds += seconds_since(before);
    score(outputs.at(output).tensor(), *batch, result);
    done += inputs.size(0);
    if (options.progress) options.progress(done, data.size());
  }
  result.seconds = seconds_since(start);
  result.skipped = loader.skipped();
  QUENCH_CHECK(result.task != Task::kNextToken || result.tokens > 0 || done == 0,
               "no text has two tokens: there is nothing to score");
  QUENCH_CHECK(done > 0, "no item of the data could be used (", result.skipped.size(), " broken)");
  return result;
}

double EvalResult::top1() const { return static_cast<double>(correct) / static_cast<double>(images); }
double EvalResult::top5() const { return static_cast<double>(correct5) / static_cast<double>(images); }
double EvalResult::perplexity() const { return std::exp(log_loss / static_cast<double>(tokens)); }

}  // namespace quench
