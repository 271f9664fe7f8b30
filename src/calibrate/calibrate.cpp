#include "quench/calibrate.h"
#include "data/data_description.h"
#include "distributed/check_same.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "calibrate/fed_groups.h"
#include "calibrate/fit_biases.h"
#include "calibrate/float_run.h"
#include "calibrate/observing.h"
#include "calibrate/shares.h"
#include "calibrate/slice_size.h"
#include "calibrate/statistics.h"
#include "core/counted.h"
#include "data/fed_items.h"
#include "data/feed.h"
#include "quench/distributed.h"
#include "quench/error.h"

namespace quench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

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
    set_qparams(*one.node, one.observer->qparams());
    set_fake_quant_flags(*one.node, {.quantize = true});
  }
}

// Batches through the network, seen by the observers: full ones, or one, its items and not the copies that pad it.
using RunBatches = std::function<void(const std::vector<Fed>& batches)>;

bool leads(const Value& value, const Dim& batch) {
  return value.has_rank() && value.rank() > 0 && value.dims()[0].certainly_equal(batch);
}

// Whether what each observer sees lies item by item along its first axis: then copies that pad the last slice can be
// left out again, and every item is computed in slices of one size. (A network gives other last bits at other sizes.)
bool items_lead(const Graph& graph, const Observing& observing) {
  const Dim batch = batch_dim(graph);
  const auto& all = observing.quantizers();
  return std::all_of(all.begin(), all.end(),
                     [&](const ObservedQuantizer& one) { return !one.from_data || leads(one.value(), batch); });
}

// Whether a pass for the observers alone computes what the watcher wants, from all of the data.
bool can_watch(const Graph& graph, const CalibrationOptions& options, const CalibrationRecord& record) {
  const bool alone = !options.processes || !options.processes->are_several();
  if (!options.watcher || !record.filled || options.batches > 0 || options.device != "cpu" || !alone) return false;
  const Dim batch = batch_dim(graph);
  const std::set<std::string> computed = quantized_values(graph);
  const std::vector<std::string> wanted = options.watcher->values();
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& name) {
    return computed.contains(name) && leads(graph.value(name), batch);
  });
}

// Whether each thread may have a slice of the data for itself: nothing depends on what is in a batch.
bool in_slices(const Observing& observing, const CalibrationOptions& options) {
  return !observing.by_batch() && !options.on_quantized && options.device == "cpu";
}

// Observers that average over batches get the batches asked for; others get slices sized by memory.
std::int64_t items_at_once(const Graph& graph, const Observing& observing, const Dataset& data,
                           const CalibrationOptions& options) {
  const std::int64_t asked = choose_batch(graph, &data, options.batch);
  if (observing.by_batch() || options.on_quantized) return asked;
  const Graph network = without_quantizers(graph);
  return in_slices(observing, options) ? slice_of_thread(network, data) : slice_size(network, data, options.device);
}

// On what the earlier quantizers have made of the data: the graph itself, node by node.
RunBatches quantized_run(Graph& graph, Observing& observing, const std::string& device) {
  observe_and_quantize(observing);
  quantize_constants(observing);
  ExecOptions exec;
  exec.device = device;
  const auto executor = std::make_shared<Executor>(graph, exec);
  observing.attach(*executor);
  return [=, outputs = output_names(graph), &observing](const std::vector<Fed>& batches) {
    for (const Fed& batch : batches) {
      observing.count_items(batch.items, batch.rows);
      executor->run(batch.inputs, outputs);
      observing.switch_followers_on();
    }
  };
}

RunBatches float_run(const Graph& graph, const Observing& observing, FloatWatcher* watcher, const std::string& device,
                     bool side_by_side) {
  std::vector<Watch> watches = watches_of(observing);
  if (watcher)
    for (const std::string& name : watcher->values())
      watches.push_back({name, false, [=](const at::Tensor& x) { watcher->see(name, x); }});
  const auto network = std::make_shared<FloatRun>(graph, watches, device);
  return [=, &observing](const std::vector<Fed>& batches) {
    observing.count_items(batches[0].items, batches[0].rows);
    if (watcher)
      for (const Fed& batch : batches) watcher->begin_batch(batch.items, batch.rows);
    side_by_side ? network->run_each(inputs_of(batches)) : network->run(batches[0].inputs);
  };
}

// All of the data, or options.batches of it, through the graph.
void feed(Feed& data, FedGroups groups, const CalibrationOptions& options, const RunBatches& run,
          CalibrationRecord& record) {
  for (std::vector<Fed> group = groups.next(); !group.empty(); group = groups.next()) {
    const auto before = Clock::now();
    naming_items(group, [&] { run(group); });
    record.model_seconds += seconds_since(before);
    for (const Fed& batch : group) record.items += batch.items;
    record.batches += static_cast<std::int64_t>(group.size());
    if (options.progress) options.progress(record.items, data.size());
  }
  record.skipped = data.skipped();
}

// Averages over batches depend on the batch size; the references use at least our default.
void note_averages(const Observing& observing, CalibrationRecord& record) {
  const auto& all = observing.quantizers();
  const auto averaging = std::count_if(
      all.begin(), all.end(), [](const ObservedQuantizer& one) { return one.from_data && one.observer->by_batch(); });
  if (averaging == 0) return;
  record.notes.push_back(concat(counted(averaging, "observer"), averaging == 1 ? " averages" : " average", " over ",
                                counted(record.batches, "batch", "batches"), " of ", record.batch, " items"));
  if (record.batch < kDefaultBatch)
    record.notes.push_back(concat("warning: batches of ", record.batch, " are below the reference's ", kDefaultBatch,
                                  ": averaged ranges come out narrower, and accuracy may drop"));
}

// This process's share of the data, or all of it.
void observe_anew(Graph& graph, Observing& observing, const Dataset& data, const CalibrationOptions& options,
                  CalibrationRecord& record) {
  check_same(options.processes, "data", [&] { return data_description(data); });
  const Shares shares(observing, options);
  record.filled = !observing.by_batch() && !options.on_quantized && items_lead(graph, observing);
  record.watched = can_watch(graph, options, record);
  FeedOptions how;
  how.batch = record.batch;
  how.workers = options.workers;
  how.skip_broken = options.skip_broken;
  how.total = options.batches * choose_batch(graph, &data, options.batch);
  how.fill = record.filled;
  how.part = shares.part();
  how.parts = shares.parts();
  Feed batches(graph, data, how);  // before the quantizers are switched on: states are the float network's
  FloatWatcher* watcher = record.watched ? options.watcher : nullptr;
  const bool side_by_side = in_slices(observing, options) && fits_each_thread(without_quantizers(graph), data);
  const RunBatches run = options.on_quantized ? quantized_run(graph, observing, options.device)
                                              : float_run(graph, observing, watcher, options.device, side_by_side);
  feed(batches, {batches, side_by_side ? at::get_num_threads() : 1}, options, run, record);
  shares.put_together(observing, record);
  QUENCH_CHECK(record.items > 0, "no item of the data could be used (", record.skipped.size(), " broken)");
}

void observe_data(Graph& graph, Observing& observing, const Dataset& data, const CalibrationOptions& options,
                  CalibrationRecord& record) {
  std::optional<KeptStatistics> kept;  // of several processes the first one's
  const bool keeps = !options.statistics.empty() && (!options.processes || options.processes->is_first());
  if (keeps) kept.emplace(graph, data, options);
  record.batch = items_at_once(graph, observing, data, options);
  record.reused = kept && kept->load(observing, record);
  if (options.processes) share_what_was_kept(observing, *options.processes, record);
  if (!record.reused) observe_anew(graph, observing, data, options, record);
  if (!record.reused && kept) kept->save(observing, record);
  note_averages(observing, record);
}

QuantizerRecord record_of(const ObservedQuantizer& one) {
  const FakeQuantSpec& spec = one.algorithm->spec();
  return {one.value().name(), spec.role, spec.scheme.text(), one.observer->kind(), qparams_of(*one.node)};
}

// Restores every quantizer's flags unless calibration finished.
class FlagsKept {
 public:
  explicit FlagsKept(Graph& graph) {
    for (Node* node : quantizers_of(graph)) flags_.emplace_back(node, fake_quant_flags(*node));
    for (Node* node : bias_quantizers_of(graph)) biases_.emplace_back(node, is_on(*node));
  }
  ~FlagsKept() {
    if (done) return;
    for (const auto& [node, flags] : flags_) set_fake_quant_flags(*node, flags);
    for (const auto& [node, on] : biases_) set_on(*node, on);
  }
  bool done = false;

 private:
  std::vector<std::pair<Node*, QuantFlags>> flags_;
  std::vector<std::pair<Node*, bool>> biases_;
};

CalibrationRecord run(QuantizedModel& model, const Dataset& data, const CalibrationOptions& options) {
  Graph& graph = model.graph;
  CalibrationRecord record;
  const auto start = Clock::now();
  QUENCH_CHECK(options.batches >= 0, "the number of batches must be at least 1, not ", options.batches);
  FlagsKept flags(graph);
  Observing observing(model);
  set_state(graph, std::nullopt, {});
  observing.observe_constants(graph);
  if (needs_data(observing)) observe_data(graph, observing, data, options, record);
  observing.take_over(model);
  flags.done = true;
  record.raised = fit_biases(model);
  for (const ObservedQuantizer& one : observing.quantizers()) record.quantizers.push_back(record_of(one));
  record.seconds = seconds_since(start);
  return record;
}

}  // namespace

CalibrationRecord calibrate(QuantizedModel& model, const Dataset& data, const CalibrationOptions& options) {
  return with_context([] { return "while calibrating"; }, [&] { return run(model, data, options); });
}

}  // namespace quench
