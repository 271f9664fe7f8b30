#include "quench/tensor_histogram.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "calibrate/slice_size.h"
#include "data/fed_items.h"
#include "data/feed.h"
#include "measure/value_counts.h"
#include "quench/error.h"
#include "quench/executor.h"

namespace quench {
namespace {

bool follows_from_constant(const Node& quantizer) { return quantizer.input(0)->is_constant(); }

// Of pictures [N, C, H, W] the second axis; of tokens [N, T, C] and of rows [N, C] the last one; of signals [N, C, T]
// with any T the second one. Channels have a number.
int channel_axis(const Value& value) {
  if (!value.has_rank() || value.rank() < 2) return -1;
  const auto is_fixed = [&](int axis) { return value.dims()[static_cast<std::size_t>(axis)].is_number(); };
  const int last = static_cast<int>(value.rank()) - 1;
  if (value.rank() < 4 && is_fixed(last)) return last;
  return value.rank() > 2 && is_fixed(1) ? 1 : -1;
}

class ActivationCounts {
 public:
  ActivationCounts(const QuantizedModel& model, const Dataset& data, const HistogramOptions& options)
      : graph_(without_quantizers(model.graph)), data_(data), options_(options) {
    for (const Node* node : quantizers_of(model.graph)) {
      const Value* value = graph_.find_value(node->input(0)->name());
      if (fake_quant_spec(*node).role == Role::kWeight || follows_from_constant(*node)) continue;
      if (!value || counts_.contains(value->name())) continue;
      order_.push_back(value->name());
      counts_.emplace(value->name(), ValueCounts(*node, channel_axis(*value)));
    }
  }

  std::vector<TensorHistogram> run() {
    pass(&ValueCounts::see_range, 0);
    pass(&ValueCounts::count, 1);
    std::vector<TensorHistogram> found;
    for (const std::string& name : order_)
      if (const ValueCounts& one = counts_.at(name); one.seen()) found.push_back(one.result());
    return found;
  }

 private:
  void pass(void (ValueCounts::*see)(const at::Tensor&), int number) {
    FeedOptions how;
    how.batch = options_.batch;
    how.otherwise = slice_size(graph_, data_);
    how.workers = options_.workers;
    how.skip_broken = options_.skip_broken;
    how.total = options_.items;
    Feed feed(graph_, data_, how);
    ExecOptions exec;
    exec.device = options_.device;
    exec.channels_last = true;
    Executor executor(graph_, exec);
    std::int64_t items = 0, rows = 0, done = 0;
    for (auto& [name, counts] : counts_)
      executor.on_value(name, [&, &one = counts](const Value&, RtValue& x) {
        (one.*see)(of_items(x.tensor(), items, rows));
        return Next::kContinue;
      });
    while (const std::optional<Fed> batch = feed.next()) {
      items = batch->items;
      rows = batch->rows;
      naming_items({&*batch, 1}, [&] { executor.run(batch->inputs, output_names(graph_)); });
      done += items;
      if (options_.progress) options_.progress(number * feed.size() + done, 2 * feed.size());
    }
    QUENCH_CHECK(done > 0, "no item of the data could be used (", feed.skipped().size(), " broken)");
  }

  // Without the copies that fill a batch of fixed size.
  static at::Tensor of_items(const at::Tensor& x, std::int64_t items, std::int64_t rows) {
    return x.dim() > 0 && x.size(0) == rows ? x.narrow(0, 0, items) : x;
  }

  Graph graph_;
  const Dataset& data_;
  const HistogramOptions& options_;
  std::vector<std::string> order_;
  std::map<std::string, ValueCounts> counts_;
};

}  // namespace

std::vector<TensorHistogram> weight_histograms(const QuantizedModel& model) {
  std::vector<TensorHistogram> found;
  if (model.stage < ModelStage::kCalibrated || model.stage == ModelStage::kConverted) return found;
  for (const Node* node : quantizers_of(model.graph)) {
    if (!follows_from_constant(*node)) continue;
    const at::Tensor weight = fake_quant_of(*node)->transform(node->input(0)->tensor().to(at::kFloat));
    ValueCounts counts(*node, weight.dim() >= 2 ? 0 : -1);
    counts.see_range(weight);
    counts.count(weight);
    if (counts.seen()) found.push_back(counts.result());
  }
  return found;
}

std::vector<TensorHistogram> activation_histograms(const QuantizedModel& model, const Dataset& data,
                                                   const HistogramOptions& options) {
  return with_context([] { return "while counting the values of activations"; },
                      [&] {
                        verify(model, ModelStage::kCalibrated);
                        return ActivationCounts(model, data, options).run();
                      });
}

}  // namespace quench
