// Sequential bias correction: all items at once, layer by layer. Each layer's correction is added to its output on the
// way, so that later layers see the corrected network and one forward suffices. The items go in parts of the batch
// size; between two layers each part holds no more than what later nodes read.
#include <ATen/ATen.h>

#include <cmath>
#include <map>

#include "data/content.h"
#include "ptq/correcting.h"
#include "ptq/counted_batch.h"
#include "ptq/exact_sum.h"
#include "ptq/layer_bias.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/pass.h"

namespace quench {
namespace {

constexpr std::int64_t kItems = 64;

// Moments of a layer's output over parts that count by their shares.
class Moments {
 public:
  void add(const Node& layer, const at::Tensor& y, Share share) {
    const at::Tensor rows = channel_columns(layer, y);
    sum_.add(rows, share);
    squares_.add(rows.square(), share);
  }

  at::Tensor mean() const { return sum_.mean(); }
  double deviation() const {
    const double all = mean().mean().item<double>();
    return std::sqrt(std::max(squares_.mean().mean().item<double>() - all * all, 0.0));
  }

 private:
  ExactSum sum_, squares_;  // of each channel
};

std::vector<CountedBatch> load_all(const Graph& graph, const Dataset& data, const BiasCorrectionOptions& options,
                                   BiasCorrectionRecord& record) {
  Graph plain(graph);
  set_state(plain, std::nullopt, {});  // recurrent states are the float network's
  const std::unique_ptr<Dataset> items = sample_of(data, options.items > 0 ? options.items : kItems);
  Feed feed(plain, *items, feed_options(graph, *items, options));
  std::vector<CountedBatch> parts;
  while (const std::optional<Fed> batch = feed.next()) {
    for (CountedBatch& part : counted(plain, *batch)) parts.push_back(std::move(part));
    record.items += batch->items;
  }
  QUENCH_CHECK(record.items > 0, "the data is empty: bias correction needs at least one item");
  return parts;
}

std::map<std::string, Moments> float_moments(const Graph& graph, const std::vector<Node*>& layers,
                                             const std::vector<CountedBatch>& parts) {
  Graph plain(graph);
  set_state(plain, std::nullopt, {});
  Executor executor(plain);
  std::map<std::string, Moments> moments;
  Share share;
  for (const Node* layer : layers)
    executor.on_node(layer->name(), [&](const Node& node, std::vector<RtValue>& results) {
      moments[node.name()].add(node, results[0].tensor(), share);
      return Next::kContinue;
    });
  for (const CountedBatch& part : parts) {
    share = part.share;
    executor.run(part.inputs, output_names(plain));
  }
  return moments;
}

// For each layer: what is made before it ends and read after. Constants need not be held.
std::vector<std::vector<std::string>> alive_behind(const Graph& graph, const std::vector<Node*>& layers) {
  std::map<const Node*, std::size_t> place;
  for (const auto& node : graph.nodes()) place[node.get()] = place.size() + 1;
  std::vector<std::vector<std::string>> alive(layers.size());
  for (const Value* value : graph.values()) {
    if (value->is_constant() || (!value->producer() && !value->is_input())) continue;
    const std::size_t made = value->producer() ? place.at(value->producer()) : 0;
    std::size_t last = made;
    for (const Value::Use& use : value->uses()) last = std::max(last, place.at(use.node));
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const std::size_t cut = place.at(graph.find_node(layers[i]->name()));
      if (made <= cut && cut < last) alive[i].push_back(value->name());
    }
  }
  return alive;
}

at::Tensor shifted(const Node& layer, const at::Tensor& y, const at::Tensor& shift) {
  const at::Tensor moved = y.movedim(channel_axis(layer), -1) + shift.to(y.scalar_type());
  return moved.movedim(-1, channel_axis(layer));
}

// Weights quantized once, not once per part.
Graph measured_graph(const Graph& graph) {
  Graph measured = with_weights_quantized(graph);
  run_passes(measured, {"fold_weights", "eliminate_dead"});
  return measured;
}

}  // namespace

void correct_sequentially(QuantizedModel& model, const std::vector<Node*>& layers, const Dataset& data,
                          const BiasCorrectionOptions& options, BiasCorrectionRecord& record) {
  const std::vector<CountedBatch> parts = load_all(model.graph, data, options, record);
  std::map<std::string, Moments> wanted = float_moments(model.graph, layers, parts);
  const Graph measured = measured_graph(model.graph);
  const std::vector<std::vector<std::string>> alive = alive_behind(measured, layers);
  Executor executor(measured);
  std::vector<NamedValues> held;
  for (const CountedBatch& part : parts) held.push_back(part.inputs);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string output = layers[i]->output().name();
    std::vector<std::string> fetched = alive[i];
    if (std::find(fetched.begin(), fetched.end(), output) == fetched.end()) fetched.push_back(output);
    Moments found;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      held[part] = executor.run(held[part], fetched);
      found.add(*layers[i], held[part].at(output).tensor(), parts[part].share);
    }
    const Moments& target = wanted.at(layers[i]->name());
    const at::Tensor shift = target.mean() - found.mean();
    for (NamedValues& values : held) values[output] = RtValue(shifted(*layers[i], values.at(output).tensor(), shift));
    record.layers.push_back(record_of(*layers[i], shift, target.deviation()));
    shift_bias(model, *layers[i], shift);
  }
}

}  // namespace quench
