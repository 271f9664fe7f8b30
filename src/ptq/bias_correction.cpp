// Bias correction: b' = b - (E[y^] - E[y]) per output channel (docs/numerics.md 10.2; Nagel et al. 2019, "Data-Free
// Quantization", section 4.2, with means from data).
//
// fast: each layer alone, on what it reads in the float network. A layer is linear, so that the mean of its outputs is
// its output for the mean input: one pass gathers E[x] of every layer's input, position by position, and each layer
// then runs once with its float and once with its quantized weight. sequential: see sequential_correction.cpp.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <chrono>
#include <cmath>

#include "calibrate/fed_groups.h"
#include "calibrate/float_run.h"
#include "calibrate/slice_size.h"
#include "data/content.h"
#include "data/fed_items.h"
#include "kernels/parallel.h"
#include "kernels/thread_limit.h"
#include "ptq/correcting.h"
#include "ptq/counted_batch.h"
#include "ptq/input_means.h"
#include "ptq/layer_bias.h"
#include "quench/calibrate.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/ptq.h"

namespace quench {

Graph with_weights_quantized(const Graph& graph) {
  Graph copy(graph);
  set_state(copy, std::nullopt, {});
  set_state(copy, Role::kWeight, {.quantize = true});
  for (Node* node : bias_quantizers_of(copy)) set_on(*node, false);
  return copy;
}

FeedOptions feed_options(const Graph& graph, const Dataset& data, const BiasCorrectionOptions& options) {
  FeedOptions how;
  how.batch = options.batch;
  how.otherwise = slice_size(without_quantizers(graph), data);
  how.fill = true;  // a network's last bits depend on the batch: all have the same
  how.workers = options.workers;
  how.skip_broken = options.skip_broken;
  return how;
}

CorrectedLayer record_of(const Node& layer, const at::Tensor& shift, double deviation) {
  const double unit = deviation > 0 ? deviation : 1.0;
  return {layer.name(), shift.abs().max().item<double>() / unit,
          std::sqrt(shift.square().mean().item<double>()) / unit};
}

namespace {

// In slices as calibration's: both find the same, to the bit.
void gather(const Graph& plain, const Dataset& data, const BiasCorrectionOptions& options, InputMeans& means) {
  FeedOptions how = feed_options(plain, data, options);
  const Graph bare = without_quantizers(plain);
  how.otherwise = slice_of_thread(bare, data);
  Feed feed(plain, data, how);
  const bool side_by_side = (how.batch == 0 || data.size() > how.batch) && fits_each_thread(bare, data);
  FedGroups groups(feed, side_by_side ? at::get_num_threads() : 1);
  FloatRun network(plain, means.watches(), "cpu");
  const auto run = [&](const std::vector<NamedValues>& batches, Share share) {
    means.count_as(share);
    side_by_side ? network.run_each(batches) : network.run(batches[0]);
  };
  const auto run_group = [&](const std::vector<Fed>& group) {
    if (group.size() > 1) return run(inputs_of(group), {});
    for (const CountedBatch& part : counted(plain, group[0])) run({part.inputs}, part.share);
  };
  std::int64_t done = 0;
  for (std::vector<Fed> group = groups.next(); !group.empty(); group = groups.next()) {
    naming_items(group, [&] { run_group(group); });
    for (const Fed& batch : group) done += batch.items;
    if (options.progress) options.progress(done, feed.size());
  }
  QUENCH_CHECK(done > 0, "the data is empty: bias correction needs at least one item");
  means.count_items(done);
}

at::Tensor run_layer(Executor& executor, const Node& layer, const at::Tensor& x) {
  const std::string& output = layer.output().name();
  return executor.run({{layer.input(0)->name(), RtValue(x)}}, {output}).at(output).tensor();
}

struct LayerShift {
  at::Tensor shift;
  double deviation = 0.0;  // of what the layer gives
};

// Each layer is one thread's work: by several threads its last bits would depend on their number.
std::vector<LayerShift> shifts_of(const Graph& plain, const Graph& measured, const std::vector<Node*>& layers,
                                  const InputMeans& means) {
  std::vector<LayerShift> found(layers.size());
  in_parallel(static_cast<std::int64_t>(found.size()), 1, [&](std::int64_t first, std::int64_t last) {
    const ThreadLimit alone(1);  // else oneDNN would choose kernels for several
    Executor exact(plain), quantized(measured);
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
      const Node& layer = *layers[i];
      const at::Tensor x = means.of(layer), y = run_layer(exact, layer, x);
      found[i].shift = channel_means(layer, y) - channel_means(layer, run_layer(quantized, layer, x));
      found[i].deviation = y.std().item<double>();
    }
  });
  return found;
}

void correct_fast(QuantizedModel& model, const std::vector<Node*>& layers, const Dataset& data,
                  const BiasCorrectionOptions& options, BiasCorrectionRecord& record) {
  Graph plain(model.graph);
  set_state(plain, std::nullopt, {});
  InputMeans own(layers);
  const std::unique_ptr<Dataset> some = options.items > 0 ? sample_of(data, options.items) : nullptr;
  if (!options.seen) gather(plain, some ? *some : data, options, own);
  const auto* seen = dynamic_cast<const InputMeans*>(options.seen);
  QUENCH_CHECK(seen || !options.seen, "the options' 'seen' does not come from bias_correction_watcher()");
  const InputMeans& means = seen ? *seen : own;
  record.items = means.items();
  const std::vector<LayerShift> shifts = shifts_of(plain, with_weights_quantized(model.graph), layers, means);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    record.layers.push_back(record_of(*layers[i], shifts[i].shift, shifts[i].deviation));
    shift_bias(model, *layers[i], shifts[i].shift);
  }
}

}  // namespace

std::unique_ptr<FloatWatcher> bias_correction_watcher(const QuantizedModel& model) {
  std::vector<std::string> skipped;
  return std::make_unique<InputMeans>(correctable_layers(model.graph, skipped));
}

bool BiasCorrectionRecord::changed() const {
  for (const CorrectedLayer& layer : layers)
    if (layer.largest > 0) return true;
  return false;
}

BiasCorrectionRecord correct_biases(QuantizedModel& model, const Dataset& data, const BiasCorrectionOptions& options) {
  const c10::AutoGradMode no_grad(false);
  const auto start = std::chrono::steady_clock::now();
  BiasCorrectionRecord record;
  if (options.kind == BiasCorrection::kNone) return record;
  verify(model, ModelStage::kCalibrated);
  QuantizedModel result(model);  // an error leaves the model as it was
  const std::vector<Node*> layers = correctable_layers(result.graph, record.skipped);
  with_context([&] { return concat("during ", name_of(options.kind), " bias correction"); },
               [&] {
                 if (layers.empty()) return;
                 if (options.kind == BiasCorrection::kFast)
                   correct_fast(result, layers, data, options, record);
                 else
                   correct_sequentially(result, layers, data, options, record);
               });
  verify(result, ModelStage::kCalibrated);
  model = std::move(result);
  record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return record;
}

}  // namespace quench
