#include "data/feed.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "data/bind_inputs.h"
#include "data/dataset_view.h"
#include "data/feedback.h"

namespace quench {
namespace {

LoadOptions load_options(const FeedOptions& options, std::int64_t batch) {
  LoadOptions load;
  load.batch_size = batch;
  load.workers = options.workers;
  load.skip_broken = options.skip_broken;
  load.part = options.part;
  load.parts = options.parts;
  return load;
}

Batch first_items(const Batch& batch, std::int64_t count) {
  Batch part = batch;
  NamedValues inputs;
  for (const auto& [name, value] : batch.inputs.values())
    inputs[name] = RtValue(value.tensor().narrow(0, 0, count), value.dtype());
  part.inputs = inputs;
  const auto items = static_cast<std::size_t>(count);
  part.labels.resize(items);
  part.names.resize(items);
  part.indices.resize(items);
  part.lengths.resize(items);
  part.targets.resize(items);
  part.placements.resize(items);
  return part;
}

}  // namespace

std::vector<std::string> output_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value* output : graph.outputs()) names.push_back(output->name());
  return names;
}

Feed::Feed(const Graph& graph, const Dataset& data, const FeedOptions& options)
    : graph_(graph),
      with_states_(data.feedback().states.empty() ? nullptr : with_feedback(graph, data, options.skip_broken)),
      data_(with_states_ ? *with_states_ : data),
      first_items_(options.parts > 1 && options.total > 0 ? std::make_unique<FirstItems>(data_, options.total)
                                                          : nullptr),
      options_(options),
      fixed_(fixed_batch(graph, &data_)),
      batch_(choose_batch(graph, &data_, options.batch, options.otherwise)),
      loader_(first_items_ ? *first_items_ : data_, load_options(options, batch_)) {}

Feed::~Feed() = default;

std::optional<Fed> Feed::next() {
  if (done_ >= size()) return std::nullopt;
  std::optional<Batch> batch = loader_.next();
  if (!batch) return std::nullopt;
  if (batch->size() > size() - done_) *batch = first_items(*batch, size() - done_);
  Fed fed;
  fed.inputs = bind_filled(graph_, *batch, options_.fill ? batch_ : 0);
  fed.items = batch->size();
  const std::int64_t multiple = fixed_ > 0 ? fixed_ : options_.fill ? batch_ : 1;
  fed.rows = (fed.items + multiple - 1) / multiple * multiple;
  fed.batch = std::move(*batch);
  done_ += fed.items;
  return fed;
}

std::int64_t Feed::size() const {
  return options_.total > 0 ? std::min(options_.total, loader_.size()) : loader_.size();
}
const std::vector<std::string>& Feed::skipped() const { return loader_.skipped(); }

}  // namespace quench
