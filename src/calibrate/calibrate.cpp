#include "quench/calibrate.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>

#include "calibrate/fit_biases.h"
#include "calibrate/float_run.h"
#include "calibrate/observing.h"
#include "calibrate/slice_size.h"
#include "calibrate/statistics.h"
#include "data/batch_size.h"
#include "quench/error.h"
#include "quench/prepare.h"

namespace quench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

bool is_quantizer(const Node& node) { return node.op() == "quench.FakeQuant"; }

// Quantizers that see data observe and quantize at once, which not every observer can.
void observe_and_quantize(const Observing& observing) {
  for (const ObservedQuantizer& one : observing.quantizers()) {
    if (!one.from_data) continue;
    QUENCH_CHECK(one.observer->refreshable(), "the observer '", one.observer->kind(), "' of '", one.value().name(),
                 "' cannot observe and quantize at once; calibrate on float activations, or take min_max");
    set_fake_quant_flags(*one.node, {.observe = true, .quantize = true});
  }
}

bool needs_data(const Observing& observing) {
  const auto& all = observing.quantizers();
  return std::any_of(all.begin(), all.end(), [](const ObservedQuantizer& one) { return one.from_data; });
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

// One batch through the network, seen by the observers: its first `items`.
using RunBatch = std::function<void(const RtValue& input, std::int64_t items)>;

// Whether what each observer sees lies item by item along its first axis: then copies that fill up a last slice can be
// left out again, and every item is computed in slices of one size. (A network gives other last bits at other sizes.)
bool items_lead(const Graph& graph, const Observing& observing) {
  const Value& input = *graph.inputs()[0];
  const auto leads = [&](const Value& value) {
    return value.has_rank() && value.rank() > 0 && value.dims()[0].certainly_equal(input.dims()[0]);
  };
  const auto& all = observing.quantizers();
  return input.has_rank() && input.rank() > 0 && std::all_of(all.begin(), all.end(), [&](const ObservedQuantizer& one) {
           return !one.from_data || leads(one.value());
         });
}

// What averages over batches gets those that were asked for; what does not, slices that memory decides.
std::int64_t items_at_once(const Graph& graph, const Observing& observing, const Dataset& data,
                           const CalibrationOptions& options) {
  const std::int64_t asked = choose_batch(only_input(graph, "calibration"), options.batch);
  if (observing.by_batch() || options.on_quantized) return asked;
  return slice_size(without_quantizers(graph), data);
}

// On what the quantizers before have made of the data: the graph itself, node by node.
RunBatch quantized_run(Graph& graph, Observing& observing, const std::string& device) {
  observe_and_quantize(observing);
  quantize_constants(observing);
  ExecOptions exec;
  exec.device = device;
  const auto executor = std::make_shared<Executor>(graph, exec);
  observing.attach(*executor);
  std::vector<std::string> outputs;
  for (const Value* output : graph.outputs()) outputs.push_back(output->name());
  return [=, name = graph.inputs()[0]->name(), &graph, &observing](const RtValue& input, std::int64_t items) {
    observing.count_items(items, input.tensor().size(0));
    executor->run({{name, input}}, outputs);
    quantize_followers(graph);
  };
}

RunBatch float_run(const Graph& graph, const Observing& observing, const std::string& device) {
  const auto network = std::make_shared<FloatRun>(graph, observing, device);
  return [=, &observing](const RtValue& input, std::int64_t items) {
    observing.count_items(items, input.tensor().size(0));
    network->run(input);
  };
}

// All of the data, or options.batches of it, through the graph.
void feed(const Value& input, const Dataset& data, const CalibrationOptions& options, const RunBatch& run,
          CalibrationRecord& record) {
  LoadOptions load;
  load.batch_size = record.batch;
  load.workers = options.workers;
  load.skip_broken = options.skip_broken;
  Loader loader(data, load);
  const std::int64_t asked = options.batches * choose_batch(input, options.batch);
  const std::int64_t total = options.batches > 0 ? std::min(data.size(), asked) : data.size();
  while (record.images < total) {
    const std::optional<Batch> batch = loader.next();
    if (!batch) break;
    const at::Tensor all = batch->inputs.tensor();
    const at::Tensor items = all.narrow(0, 0, std::min(all.size(0), total - record.images));
    const at::Tensor fed = record.filled ? fill_to(items, load.batch_size) : fill_up(input, items, load.batch_size);
    const auto before = Clock::now();
    run(RtValue(fed, batch->inputs.dtype()), items.size(0));
    record.model_seconds += seconds_since(before);
    record.images += items.size(0);
    ++record.batches;
    if (options.progress) options.progress(record.images, total);
  }
  record.skipped = loader.skipped();
  QUENCH_CHECK(record.images > 0, "no item of the data could be used (", record.skipped.size(), " broken)");
}

// What averages over batches depends on their size, which the references have no less of than our default.
void note_averages(const Observing& observing, CalibrationRecord& record) {
  const auto& all = observing.quantizers();
  const auto averaging = std::count_if(
      all.begin(), all.end(), [](const ObservedQuantizer& one) { return one.from_data && one.observer->by_batch(); });
  if (averaging == 0) return;
  record.notes.push_back(
      concat(averaging, " observers average over the batches: ", record.batches, " of ", record.batch, " items"));
  if (record.batch < kDefaultBatch)
    record.notes.push_back(concat("warning: batches of ", record.batch, " are below the reference's ", kDefaultBatch,
                                  ": averages over them come out narrower, and accuracy may fall"));
}

void observe_data(Graph& graph, Observing& observing, const Dataset& data, const CalibrationOptions& options,
                  CalibrationRecord& record) {
  std::optional<KeptStatistics> kept;
  if (!options.statistics.empty()) kept.emplace(graph, data, options);
  record.batch = items_at_once(graph, observing, data, options);
  record.reused = kept && kept->load(observing, record);
  if (!record.reused) {
    record.filled = !observing.by_batch() && !options.on_quantized && items_lead(graph, observing);
    const RunBatch run_batch = options.on_quantized ? quantized_run(graph, observing, options.device)
                                                    : float_run(graph, observing, options.device);
    feed(only_input(graph, "calibration"), data, options, run_batch, record);
    if (kept) kept->save(observing, record);
  }
  note_averages(observing, record);
}

QuantizerRecord record_of(const ObservedQuantizer& one) {
  const FakeQuantSpec& spec = one.algorithm->spec();
  return {one.value().name(), spec.role, spec.scheme.text(), one.observer->kind(),
          one.algorithm->deployed(fake_quant_tensors(*one.node))};
}

// Gives every quantizer its flags back, unless calibration came to its end.
class FlagsKept {
 public:
  explicit FlagsKept(Graph& graph) {
    for (const auto& node : graph.nodes())
      if (is_quantizer(*node))
        flags_.emplace_back(node.get(), fake_quant_flags(*node));
      else if (node->op() == "quench.QuantizeBias")
        biases_.emplace_back(node.get(), node->get_int("quantize", 0));
  }
  ~FlagsKept() {
    if (done) return;
    for (const auto& [node, flags] : flags_) set_fake_quant_flags(*node, flags);
    for (const auto& [node, quantize] : biases_) node->attrs["quantize"] = quantize;
  }
  bool done = false;

 private:
  std::vector<std::pair<Node*, QuantFlags>> flags_;
  std::vector<std::pair<Node*, std::int64_t>> biases_;
};

CalibrationRecord run(Graph& graph, const Dataset& data, const CalibrationOptions& options) {
  CalibrationRecord record;
  const auto start = Clock::now();
  QUENCH_CHECK(options.batches >= 0, "the number of batches must be at least 1, not ", options.batches);
  FlagsKept flags(graph);
  Observing observing(graph);
  disable_all(graph);
  observing.observe_constants();
  if (needs_data(observing)) observe_data(graph, observing, data, options, record);
  observing.take_over();
  flags.done = true;
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
