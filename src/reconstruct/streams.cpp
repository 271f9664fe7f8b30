#include "reconstruct/streams.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/hash.h"
#include "data/bind_inputs.h"
#include "data/feed.h"
#include "graph/tensor_types.h"
#include "quench/error.h"

namespace quench {

void Stream::put(const std::string& value, std::int64_t total, std::int64_t first, const RtValue& rows) {
  std::shared_ptr<RowStore>& store = stores_[value];
  if (!store) store = pool_.make(total, rows.tensor());
  types_[value] = rows.dtype();
  store->put(first, rows.tensor());
}

void Stream::put_shared(const std::string& value, const RtValue& same) {
  const auto [at, added] = shared_.try_emplace(value, same);
  QUENCH_CHECK(added || bit_equal(at->second.tensor(), same.tensor()), "'", value,
               "' differs between batches of items, although it depends on sizes alone: units that read it cannot be "
               "reconstructed");
}

void Stream::take(const std::string& value, const Stream& other) {
  stores_[value] = other.stores_.at(value);
  types_[value] = other.types_.at(value);
}

const RowStore& Stream::store(const std::string& value) const {
  const auto at = stores_.find(value);
  QUENCH_CHECK(at != stores_.end(), "'", value, "' is not cached");
  return *at->second;
}

const RtValue& Stream::shared(const std::string& value) const {
  const auto at = shared_.find(value);
  QUENCH_CHECK(at != shared_.end(), "'", value,
               "' has no axis that counts items: reconstruction needs one, first among ",
               "its dims, unless the data says that it is the same for all items (shared=NAME; docs/data.md)");
  return at->second;
}

void Stream::drop(const std::string& value) { stores_.erase(value); }

namespace {

std::vector<std::string> fetches_of(const Unit& unit) {
  std::vector<std::string> names = unit.outputs;
  names.insert(names.end(), unit.shared_outputs.begin(), unit.shared_outputs.end());
  return names;
}

void keep_outputs(Stream& stream, const Unit& unit, const NamedValues& values, std::int64_t total, std::int64_t first) {
  for (const std::string& name : unit.outputs) stream.put(name, total, first, values.at(name));
  for (const std::string& name : unit.shared_outputs) stream.put_shared(name, values.at(name));
}

std::uint64_t bytes_hash(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous();
  return stable_hash({static_cast<const char*>(flat.const_data_ptr()), flat.nbytes()});
}

// Items as the graph's inputs take them: the first `count` rows of what was fed.
RtValue first_rows(const RtValue& value, std::int64_t count) {
  return {value.tensor().narrow(0, 0, count), value.dtype()};
}

}  // namespace

Streams::Streams(const Graph& graph, const Dataset& data, const std::vector<Unit>& units, RowPool& pool,
                 const Options& options)
    : units_(units), options_(options), plain_(pool), quantized_(pool) {
  load(graph, data);
}

void Streams::load(const Graph& graph, const Dataset& data) {
  for (const auto& [name, item] : first_item(graph, data))
    QUENCH_CHECK(!is_whole(graph.value(name), item.tensor().dim()), "the input '", name,
                 "' has no axis that counts items: reconstruction needs one, first among its dims");
  FeedOptions how;
  how.batch = options_.chunk;
  how.workers = options_.workers;
  how.skip_broken = options_.skip_broken;
  Feed feed(graph, data, how);
  const std::int64_t fixed = fixed_batch(graph, &data);
  const NamedValues same = data.shared();
  // A last batch that a fixed size would pad with copies is left out, unless it is all there is.
  const std::int64_t total = fixed > 1 && feed.size() >= fixed ? feed.size() / fixed * fixed : feed.size();
  while (const std::optional<Fed> fed = feed.next()) {
    const std::int64_t rows = fixed > 1 ? fed->rows : fed->items;
    if (fixed > 1 && items_ > 0 && fed->items < rows) break;
    for (const auto& [name, value] : fed->inputs) {
      if (same.contains(name)) {
        hash_ = stable_hash(concat(hash_, name, bytes_hash(value.tensor())));
        quantized_.put_shared(name, value);
        plain_.put_shared(name, value);
        continue;
      }
      QUENCH_CHECK(value.tensor().dim() > 0 && value.tensor().size(0) >= rows, "the input '", name,
                   "' has no axis that counts items: reconstruction needs one, first among its dims");
      hash_ = stable_hash(concat(hash_, name, bytes_hash(first_rows(value, rows).tensor())));
      plain_.put(name, std::max(total, rows), items_, first_rows(value, rows));
      quantized_.take(name, plain_);
    }
    items_ += rows;
  }
  QUENCH_CHECK(items_ > 0, "the data is empty: reconstruction needs at least one item");
}

void Streams::for_chunks(const std::function<void(std::int64_t first, std::int64_t count)>& body) const {
  for (std::int64_t first = 0; first < items_; first += options_.chunk)
    body(first, std::min(options_.chunk, items_ - first));
}

void Streams::run_plain(Executor& executor, const Unit& now) {
  for_chunks([&](std::int64_t first, std::int64_t count) {
    keep_outputs(plain_, now, executor.run(plain_.inputs(now, first, count), fetches_of(now)), items_, first);
  });
}

double Streams::run_quantized(Executor& executor, const Unit& now, bool keep) {
  double error = 0, energy = 0;
  for_chunks([&](std::int64_t first, std::int64_t count) {
    const NamedValues outputs = executor.run(quantized_.inputs(now, first, count), fetches_of(now));
    if (keep) keep_outputs(quantized_, now, outputs, items_, first);
    if (!now.learns()) return;
    const at::Tensor wanted = plain_.store(now.output()).get(first, count);
    error += (outputs.at(now.output()).tensor() - wanted).square().sum(at::kDouble).item<double>();
    energy += wanted.square().sum(at::kDouble).item<double>();
  });
  QUENCH_CHECK(std::isfinite(energy), "the float network gives NaN, infinity or far too large numbers at '",
               now.output(), "': nothing can be learned from them; look at the weights of this unit, and at the data");
  return energy > 0 ? error / energy : 0.0;
}

void Streams::hold(const Unit& unit) {
  held_.insert(unit.inputs.begin(), unit.inputs.end());
  held_.insert(unit.outputs.begin(), unit.outputs.end());
}

void Streams::drop_unused(std::size_t done) {
  std::set<std::string> read = held_;
  for (std::size_t i = done + 1; i < units_.size(); ++i) read.insert(units_[i].inputs.begin(), units_[i].inputs.end());
  for (std::size_t i = 0; i <= done; ++i)
    for (const auto* names : {&units_[i].inputs, &units_[i].outputs})
      for (const std::string& name : *names)
        if (!read.contains(name)) {
          plain_.drop(name);
          quantized_.drop(name);
        }
}

}  // namespace quench
