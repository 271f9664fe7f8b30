#include "quench/calibrate.h"

#include <ATen/ATen.h>

#include <chrono>

#include "calibrate/fit_biases.h"
#include "calibrate/observing.h"
#include "data/batch_size.h"
#include "quench/error.h"
#include "quench/prepare.h"

namespace quench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

bool is_quantizer(const Node& node) { return node.op() == "quench.FakeQuant"; }

// Which quantizers see data: all that lead, or all of a quantized run, where only some observers can.
void set_flags(Graph& graph, const Observing& observing, bool on_quantized) {
  disable_all(graph);
  for (const ObservedQuantizer& one : observing.quantizers()) {
    if (!one.from_data) continue;
    QUENCH_CHECK(!on_quantized || one.observer->refreshable(), "the observer '", one.observer->kind(), "' of '",
                 one.value().name(),
                 "' cannot observe and quantize at once; calibrate on float activations, or take min_max");
    set_fake_quant_flags(*one.node, {.observe = true, .quantize = on_quantized});
  }
}

// In a quantized run, what follows from constants is known before the data comes. Those that share a scale join after
// the first batch: until then it may not be there.
void quantize_constants(const Observing& observing) {
  for (const ObservedQuantizer& one : observing.quantizers()) {
    if (one.from_data) continue;
    one.algorithm->accept(one.observer->qparams(), fake_quant_tensors(*one.node));
    set_fake_quant_flags(*one.node, {.quantize = true});
  }
}

void quantize_followers(Graph& graph) {
  for (const auto& node : graph.nodes())
    if (is_quantizer(*node) && node->metadata.contains("shared_with")) set_fake_quant_flags(*node, {.quantize = true});
}

std::vector<std::string> outputs_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value* output : graph.outputs()) names.push_back(output->name());
  return names;
}

// All of the data, or options.batches of it, through the graph.
void feed(Graph& graph, const Dataset& data, const CalibrationOptions& options, Executor& executor,
          CalibrationRecord& record) {
  const Value& input = only_input(graph, "calibration");
  LoadOptions load;
  load.batch_size = choose_batch(input, options.batch);
  load.workers = options.workers;
  load.skip_broken = options.skip_broken;
  Loader loader(data, load);
  const std::int64_t total =
      options.batches > 0 ? std::min(data.size(), options.batches * load.batch_size) : data.size();
  while (options.batches == 0 || record.batches < options.batches) {
    const std::optional<Batch> batch = loader.next();
    if (!batch) break;
    const at::Tensor items = batch->inputs.tensor();
    const auto before = Clock::now();
    executor.run({{input.name(), RtValue(fill_up(input, items, load.batch_size), batch->inputs.dtype())}},
                 outputs_of(graph));
    record.model_seconds += seconds_since(before);
    record.images += items.size(0);
    if (++record.batches == 1 && options.on_quantized) quantize_followers(graph);
    if (options.progress) options.progress(record.images, total);
  }
  record.skipped = loader.skipped();
  QUENCH_CHECK(record.images > 0, "no item of the data could be used (", record.skipped.size(), " broken)");
}

QuantizerRecord record_of(const ObservedQuantizer& one) {
  const FakeQuantSpec& spec = one.algorithm->spec();
  return {one.value().name(), spec.role, spec.scheme.text(), one.observer->kind(),
          one.algorithm->deployed(fake_quant_tensors(*one.node))};
}

CalibrationRecord run(Graph& graph, const Dataset& data, const CalibrationOptions& options) {
  CalibrationRecord record;
  const auto start = Clock::now();
  QUENCH_CHECK(options.batches >= 0, "the number of batches must be at least 1, not ", options.batches);
  Observing observing(graph);
  set_flags(graph, observing, options.on_quantized);
  observing.observe_constants();
  if (options.on_quantized) quantize_constants(observing);
  ExecOptions exec;
  exec.device = options.device;
  Executor executor(graph, exec);
  observing.attach(executor);
  feed(graph, data, options, executor, record);
  observing.take_over();
  record.raised = fit_biases(graph);
  for (const ObservedQuantizer& one : observing.quantizers()) record.quantizers.push_back(record_of(one));
  record.seconds = seconds_since(start);
  return record;
}

}  // namespace

CalibrationRecord calibrate(Graph& graph, const Dataset& data, const CalibrationOptions& options) {
  return with_context([] { return "while calibrating"; }, [&] { return run(graph, data, options); });
}

void check_calibrated(const Graph& graph) {
  std::string names;
  for (const auto& node : graph.nodes())
    if (is_quantizer(*node) && !node->metadata.contains("quench.calibrated"))
      names += concat(names.empty() ? "'" : ", '", node->input(0)->name(), "'");
  QUENCH_CHECK(names.empty(), "never calibrated: the quantizers of ", names, "; run calibrate() first");
}

}  // namespace quench
