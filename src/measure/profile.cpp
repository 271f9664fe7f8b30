#include "quench/profile.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>

#include "calibrate/slice_size.h"
#include "data/fed_items.h"
#include "data/feed.h"
#include "measure/error_sums.h"
#include "measure/profile_layers.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/pass.h"

namespace quench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kShareOfSlice = 4;  // three networks are walked at once, and their values kept for later layers

ExecOptions exec_options(const ProfileOptions& options) {
  ExecOptions exec;
  exec.device = options.device;
  exec.channels_last = true;
  return exec;
}

// Weights quantized once, not once per batch.
Graph with_folded_weights(const Graph& quantized) {
  Graph folded = quantized;
  run_passes(folded, {"fold_weights", "eliminate_dead"});
  return folded;
}

// No activation is quantized: what is lost is lost by the weights.
Graph with_float_activations(Graph quantized) {
  set_state(quantized, Role::kActivation, {});
  return quantized;
}

// What a layer's quantizers add, one after the other: to the weight, to what it reads, to what it gives.
struct PartSums {
  ErrorSums weight, input, output;
};

class Profiler {
 public:
  Profiler(const Graph& plain, const QuantizedModel& quantized, const ProfileOptions& options)
      : plain_graph_(plain),
        quantized_graph_(with_folded_weights(quantized.graph)),
        weights_graph_(with_float_activations(quantized_graph_)),
        layers_(profile_layers(plain, quantized)),
        plain_(plain_graph_, exec_options(options)),
        quantized_(quantized_graph_, exec_options(options)),
        weights_(weights_graph_, exec_options(options)),
        alone_(layers_.size()),
        all_(layers_.size()),
        parts_(layers_.size()),
        scaled_(options.scaled) {
    for (std::size_t i = 0; i < layers_.size(); ++i)
      for (const std::string& input : layers_[i].inputs) last_reader_[input] = i;
  }

  void add(const NamedValues& inputs, std::int64_t batch, std::int64_t items) {
    NamedValues floats = inputs, quants = inputs;  // what is alive in the float and in the quantized network
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const ProfileLayer& layer = layers_[i];
      std::vector<std::string> wanted = layer.outputs;
      if (!layer.compared.empty() && layer.quantized != layer.compared) wanted.push_back(layer.quantized);
      const NamedValues x = plain_.run(read(layer, floats), layer.outputs);
      NamedValues y = quantized_.run(read(layer, quants), wanted);
      if (!layer.compared.empty()) {
        const RtValue reference = scaled(layer.compared, x.at(layer.compared));
        add_alone(i, read_scaled(layer, floats), reference, batch, items);
        compare(reference, y.at(layer.quantized), batch, items, all_[i]);
        if (layer.quantized != layer.compared) y.erase(layer.quantized);
      }
      keep(x, i, floats);
      keep(y, i, quants);
      std::erase_if(floats, [&](const auto& item) { return is_dead(item.first, i); });
      std::erase_if(quants, [&](const auto& item) { return is_dead(item.first, i); });
    }
  }

  const Graph& plain() const { return plain_graph_; }

  std::vector<LayerProfile> result() const {
    std::vector<LayerProfile> list;
    for (std::size_t i = 0; i < layers_.size(); ++i)
      if (!layers_[i].compared.empty())
        list.push_back({layers_[i].name, layers_[i].op, layers_[i].quantized, alone_[i].result(), all_[i].result(),
                        parts_of(i), layers_[i].stays_float});
    return list;
  }

 private:
  void add_alone(std::size_t i, const NamedValues& inputs, const RtValue& reference, std::int64_t batch,
                 std::int64_t items) {
    const std::string &before = layers_[i].compared, &after = layers_[i].quantized;
    std::vector<std::string> wanted = {after};
    if (before != after) wanted.push_back(before);
    const NamedValues alone = quantized_.run(inputs, wanted);
    const RtValue by_weight = weights_.run(inputs, {before}).at(before);
    compare(reference, alone.at(after), batch, items, alone_[i]);
    compare(reference, by_weight, batch, items, parts_[i].weight);
    compare(by_weight, alone.at(before), batch, items, parts_[i].input);
    compare(alone.at(before), alone.at(after), batch, items, parts_[i].output);
  }

  PartErrors parts_of(std::size_t i) const {
    return {parts_[i].weight.result().sqnr, parts_[i].input.result().sqnr, parts_[i].output.result().sqnr};
  }

  static NamedValues read(const ProfileLayer& layer, const NamedValues& alive) {
    NamedValues inputs;
    for (const std::string& name : layer.inputs) inputs[name] = alive.at(name);
    return inputs;
  }

  // A value of the float network in the units of the quantized one.
  RtValue scaled(const std::string& name, const RtValue& value) const {
    const auto at = scaled_.find(name);
    if (at == scaled_.end()) return value;
    const at::Tensor& x = value.tensor();
    std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
    shape.at(static_cast<std::size_t>(at->second.axis)) = -1;
    return RtValue(x / at::tensor(at::ArrayRef<double>(at->second.factors)).to(x.options()).reshape(shape));
  }

  NamedValues read_scaled(const ProfileLayer& layer, const NamedValues& floats) const {
    NamedValues inputs = read(layer, floats);
    for (auto& [name, value] : inputs) value = scaled(name, value);
    return inputs;
  }

  bool is_dead(const std::string& value, std::size_t layer) const {
    const auto at = last_reader_.find(value);
    return at == last_reader_.end() || at->second <= layer;
  }

  void keep(const NamedValues& made, std::size_t layer, NamedValues& alive) const {
    for (const auto& [name, value] : made)
      if (!is_dead(name, layer)) alive[name] = value;
  }

  // Without the items that only pad a batch whose size the model fixes.
  static void compare(const RtValue& x, const RtValue& y, std::int64_t batch, std::int64_t items, ErrorSums& sums) {
    const auto real = [&](const at::Tensor& t) {
      return t.dim() > 0 && t.size(0) == batch ? t.narrow(0, 0, items) : t;
    };
    sums.add(real(x.tensor()), real(y.tensor()), items);
  }

  const Graph& plain_graph_;
  Graph quantized_graph_, weights_graph_;
  std::vector<ProfileLayer> layers_;
  Executor plain_, quantized_, weights_;
  std::vector<ErrorSums> alone_, all_;
  std::vector<PartSums> parts_;
  std::map<std::string, std::size_t> last_reader_;  // the layer that reads a value last
  const std::map<std::string, ChannelFactors> scaled_;
};

void walk_data(const Graph& plain, const Dataset& data, const ProfileOptions& options, Profiler& profiler,
               ProfileRecord& record) {
  FeedOptions how;
  how.batch = options.batch;
  how.otherwise = std::max<std::int64_t>(1, slice_size(profiler.plain(), data) / kShareOfSlice);
  how.workers = options.workers;
  how.skip_broken = options.skip_broken;
  Feed feed(plain, data, how);
  while (const std::optional<Fed> batch = feed.next()) {
    naming_items({&*batch, 1}, [&] { profiler.add(batch->inputs, batch->rows, batch->items); });
    record.items += batch->items;
    if (options.progress) options.progress(record.items, data.size());
  }
  QUENCH_CHECK(record.items > 0, "no item of the data could be used (", feed.skipped().size(), " broken)");
}

}  // namespace

ProfileRecord profile(const QuantizedModel& quantized, const Dataset& data, const ProfileOptions& options,
                      const Graph* reference) {
  return with_context([] { return "while profiling"; },
                      [&] {
                        const auto start = Clock::now();
                        verify(quantized, ModelStage::kCalibrated);
                        const Graph plain = reference ? *reference : without_quantizers(quantized.graph);
                        Profiler profiler(plain, quantized, options);
                        ProfileRecord record;
                        walk_data(plain, data, options, profiler, record);
                        record.layers = profiler.result();
                        record.seconds = std::chrono::duration<double>(Clock::now() - start).count();
                        QUENCH_CHECK(!record.layers.empty(), "no quantizer touches any layer: nothing to profile");
                        return record;
                      });
}

std::string LayerProfile::worst() const {
  const std::array<std::pair<const char*, double>, 3> all = {
      {{"weight", parts.weight.value}, {"input", parts.input.value}, {"output", parts.output.value}}};
  const auto least =
      std::min_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return std::isinf(least->second) && least->second > 0 ? "" : least->first;
}

std::vector<LayerProfile> ranked_by_damage(const ProfileRecord& record) {
  std::vector<LayerProfile> layers = record.layers;
  std::stable_sort(layers.begin(), layers.end(), [](const LayerProfile& a, const LayerProfile& b) {
    return a.standalone.sqnr.value < b.standalone.sqnr.value;
  });
  return layers;
}

}  // namespace quench
