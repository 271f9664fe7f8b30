// Units from a graph's structure (docs/numerics.md 15.1). A graph is cut where a single value passes from what comes
// before to what comes after: a residual block, which two values pass until they are added, stays whole. Where no such
// place is for too long (skip connections across the network, a mask that every layer reads), the value that lives
// longest is set aside and the rest cut again. What still cannot be cut goes layer by layer.
#include <algorithm>
#include <map>

#include "core/joined.h"
#include "ops/integer_form.h"
#include "quench/error.h"
#include "quench/reconstruct.h"
#include "quench/registry.h"
#include "reconstruct/flow.h"

namespace quench {
namespace {

constexpr int kMostLayers = 12;  // of a block; Inception's have ten
constexpr int kChainLayers = 3;  // of a block without branches (MQBench's rule)

struct Stretch {
  int begin = 0, end = 0;  // places in the flow
};

class Cutter {
 public:
  explicit Cutter(const Flow& flow) : flow_(flow) {}

  std::vector<Stretch> blocks() const {
    std::vector<Stretch> found;
    for (const Stretch& one : joined_chains(with_tails(split({0, flow_.size()}, {})))) {
      if (rows_among(outputs_of(one)) == 1 && layers_in(one) <= kMostLayers) {
        found.push_back(one);
        continue;
      }
      for (const Stretch& layer : layers(one)) found.push_back(layer);
    }
    return found;
  }

  // A layer with what lies before it and the chain behind it, up to the next layer or to where branches meet. What lies
  // before it is a unit of its own where the layer's would have several outputs with it.
  std::vector<Stretch> layers(Stretch all) const {
    std::vector<Stretch> found;
    int begin = all.begin, layer = -1;  // of the present stretch; -1: it has none yet
    for (int place = all.begin; place < all.end; ++place) {
      const bool ends = layer >= 0 && (flow_.has_layer(place) || flow_.is_join(place));
      const auto cut_at = [&](int cut) {
        found.push_back({begin, cut});
        begin = cut;
        layer = -1;
      };
      if (const int cut = ends ? last_exit(begin, layer, place) : 0; cut > 0) cut_at(cut);
      if (!flow_.has_layer(place)) continue;
      for (int cut = 0; layer < 0 && (cut = head_exit(begin, place)) > 0;) cut_at(cut);
      layer = place;
    }
    found.push_back({begin, all.end});
    return found;
  }

  // Where the head of the layer at `place`, the nodes from `begin` on, ends: behind a node that gives more than the
  // next one reads, such as a sum that is also added later, a norm that several layers read, a Split. 0: nowhere.
  int head_exit(int begin, int place) const {
    for (int cut = place; cut > begin; --cut) {
      const std::vector<const Value*> outputs = outputs_of({begin, cut});
      if (can_cut(cut) && makers_of(outputs) <= 1) return is_read_behind({begin, cut}) ? cut : 0;
    }
    return 0;
  }

  // How many nodes make them, but for what is the same for all items.
  std::size_t makers_of(const std::vector<const Value*>& values) const {
    std::set<const Node*> makers;
    for (const Value* value : values)
      if (!flow_.is_shared(*value)) makers.insert(unquantized(value)->producer());
    return makers.size();
  }

  // Whether more than the next node reads what it gives: a sum that is also added later.
  bool is_read_behind(Stretch one) const {
    const std::vector<const Value*> outputs = outputs_of(one);
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](const Value* value) { return flow_.last_read(*value) > one.end; });
  }

  // The last place behind `after`, up to `until`, where what began at `begin` gives one value to all that follows. 0 if
  // there is none: inside a function that reads a layer twice, beside a skip connection.
  int last_exit(int begin, int after, int until) const {
    for (int place = until; place > after; --place)
      if (can_cut(place) && rows_among(outputs_of({begin, place})) <= 1) return place;
    return 0;
  }

  std::vector<const Value*> outputs_of(Stretch one) const {
    std::vector<const Value*> outputs;
    for (int place = one.begin; place < one.end; ++place)
      for (const Value* output : flow_.node(place).outputs())
        if (output && (output->is_graph_output() || flow_.last_read(*output) >= one.end)) outputs.push_back(output);
    return outputs;
  }

  std::int64_t rows_among(const std::vector<const Value*>& values) const {
    return std::count_if(values.begin(), values.end(), [&](const Value* value) { return !flow_.is_shared(*value); });
  }

  bool can_cut(int place) const {
    const std::vector<const Value*> alive = flow_.alive_at(place);
    return std::all_of(alive.begin(), alive.end(),
                       [&](const Value* value) { return flow_.is_row(*value) || flow_.is_shared(*value); });
  }

  int layers_in(Stretch one) const {
    int count = 0;
    for (int place = one.begin; place < one.end; ++place) count += flow_.has_layer(place);
    return count;
  }

 private:
  using Aside = std::set<const Value*>;

  // Besides what was set aside earlier, one value passes.
  bool is_narrow(int place, const Aside& aside) const {
    int passing = 0;
    for (const Value* value : flow_.alive_at(place)) {
      const bool is_aside = aside.contains(value) && flow_.made_at(*value) < place - 1;
      passing += !flow_.is_shared(*value) && !is_aside;
    }
    return passing == 1 && can_cut(place);
  }

  std::vector<Stretch> split(Stretch all, Aside aside) const {
    std::vector<Stretch> parts;
    int begin = all.begin;
    for (int place = all.begin + 1; place < all.end; ++place) {
      if (!is_narrow(place, aside)) continue;
      parts.push_back({begin, place});
      begin = place;
    }
    parts.push_back({begin, all.end});
    std::vector<Stretch> found;
    for (const Stretch& part : parts) {
      const Value* longest = layers_in(part) > kMostLayers ? longest_alive(part, aside) : nullptr;
      if (!longest) {
        found.push_back(part);
        continue;
      }
      Aside more = aside;
      more.insert(longest);
      for (const Stretch& piece : split(part, more)) found.push_back(piece);
    }
    return found;
  }

  // Of the values that pass some place inside the stretch; null if there are none left.
  const Value* longest_alive(Stretch one, const Aside& aside) const {
    const Value* found = nullptr;
    int most = 1;
    for (int place = one.begin + 1; place < one.end; ++place)
      for (const Value* value : flow_.alive_at(place)) {
        const int span = std::min(flow_.last_read(*value), one.end) - std::max(flow_.made_at(*value), one.begin);
        if (aside.contains(value) || flow_.is_shared(*value) || !flow_.is_row(*value) || span <= most) continue;
        most = span;
        found = value;
      }
    return found;
  }

  // Nodes without a weight belong to the layers before them; the first ones to those behind.
  std::vector<Stretch> with_tails(const std::vector<Stretch>& parts) const {
    std::vector<Stretch> found;
    for (const Stretch& part : parts) {
      const bool joins = !found.empty() && (layers_in(part) == 0 || layers_in(found.back()) == 0);
      if (joins)
        found.back().end = part.end;
      else
        found.push_back(part);
    }
    return found;
  }

  bool is_chain(Stretch one) const {
    for (int place = one.begin; place < one.end; ++place)
      if (flow_.is_join(place)) return false;
    return true;
  }

  std::vector<Stretch> joined_chains(const std::vector<Stretch>& parts) const {
    std::vector<Stretch> found;
    for (const Stretch& part : parts) {
      const bool joins = !found.empty() && is_chain(found.back()) && is_chain(part) &&
                         layers_in(found.back()) + layers_in(part) <= kChainLayers;
      if (joins)
        found.back().end = part.end;
      else
        found.push_back(part);
    }
    return found;
  }

  const Flow& flow_;
};

// "layer1.0" of layer1.0.conv1 and layer1.0.conv2; "conv1 .. conv3" where they have nothing in common.
std::string name_of(const std::vector<std::string>& layers) {
  if (layers.size() == 1) return layers.front();
  const std::string &first = layers.front(), &last = layers.back();
  std::size_t same = std::mismatch(first.begin(), first.end(), last.begin(), last.end()).first - first.begin();
  for (const std::string& layer : layers)
    same = std::min<std::size_t>(
        same, std::mismatch(first.begin(), first.end(), layer.begin(), layer.end()).first - first.begin());
  const std::size_t end = first.substr(0, same).find_last_of("./");
  return end == std::string::npos || end == 0 ? first + " .. " + last : first.substr(0, end);
}

// Of the float network, if there is one.
const std::string& first_node(const Flow& flow, Stretch one) {
  int place = one.begin;
  while (place + 1 < one.end && passes_on(&flow.node(place))) ++place;
  return flow.node(passes_on(&flow.node(place)) ? one.begin : place).name();
}

Unit unit_of(const Flow& flow, const Cutter& cutter, Stretch one) {
  Unit unit;
  std::set<const Value*> seen;
  for (int place = one.begin; place < one.end; ++place) {
    const Node& node = flow.node(place);
    unit.nodes.push_back(node.name());
    if (flow.has_layer(place)) unit.layers.push_back(node.name());
    for (const Value* input : node.inputs()) {
      if (!input || !flow.depends_on_data(*input) || flow.made_at(*input) >= one.begin) continue;
      if (!seen.insert(input).second) continue;
      (flow.is_shared(*input) ? unit.shared_inputs : unit.inputs).push_back(input->name());
    }
  }
  for (const Value* output : cutter.outputs_of(one)) {
    if (flow.is_shared(*output)) unit.shared_outputs.push_back(output->name());
    if (flow.is_row(*output)) unit.outputs.push_back(output->name());  // others leave the network, and are not kept
    unit.comparable = unit.comparable && (flow.is_target(*output) || flow.is_shared(*output));
  }
  unit.name = unit.layers.empty() ? first_node(flow, one) : name_of(unit.layers);
  return unit;
}

// Where a stretch ends in something that cannot be compared item by item (an ArgMax, a mean over all items), what can
// be is a unit of its own, and the rest is only run.
std::vector<Stretch> with_targets(const Flow& flow, const Cutter& cutter, const std::vector<Stretch>& stretches) {
  const auto has_target = [&](Stretch one) {
    const std::vector<const Value*> outputs = cutter.outputs_of(one);
    return cutter.rows_among(outputs) == 1 && std::all_of(outputs.begin(), outputs.end(), [&](const Value* value) {
             return flow.is_target(*value) || flow.is_shared(*value);
           });
  };
  std::vector<Stretch> found;
  for (const Stretch& one : stretches) {
    int end = one.end;
    while (end > one.begin && cutter.layers_in({one.begin, end}) > 0 && !has_target({one.begin, end})) --end;
    const bool is_cut = end < one.end && end > one.begin && has_target({one.begin, end}) &&
                        cutter.layers_in({end, one.end}) == 0 && cutter.can_cut(end);
    if (is_cut) found.push_back({one.begin, end});
    found.push_back({is_cut ? end : one.begin, one.end});
  }
  return found;
}

std::vector<Stretch> by_ends(const Flow& flow, const Cutter& cutter, const std::vector<std::string>& ends) {
  std::vector<int> layers;
  std::vector<std::string> names;
  for (int place = 0; place < flow.size(); ++place) {
    if (!flow.has_layer(place)) continue;
    layers.push_back(place);
    names.push_back(flow.node(place).name());
  }
  std::vector<Stretch> found = {{0, 0}};
  const auto cut_at = [&](int cut) {
    found.back().end = cut;
    found.push_back({cut, cut});
  };
  for (std::size_t i = 0; i + 1 < layers.size(); ++i) {
    if (std::find(ends.begin(), ends.end(), names[i]) == ends.end()) continue;
    const auto exit = [&] { return cutter.last_exit(found.back().begin, layers[i], layers[i + 1]); };
    const int first = *std::lower_bound(layers.begin(), layers.end(), found.back().begin);
    for (int cut = 0; exit() == 0 && (cut = cutter.head_exit(found.back().begin, first)) > 0;) cut_at(cut);
    QUENCH_CHECK(exit() > 0, "no unit can end with '", names[i], "': it would give several values to what follows");
    cut_at(exit());
  }
  found.back().end = flow.size();
  return found;
}

// A unit's name, as find_units() gives it, stands for the layer that ends it. Where a block and a layer's unit are both
// called "l0", the block is meant, as in find_unit().
std::vector<std::string> ending_layers(const Graph& graph, const std::vector<std::string>& names) {
  std::map<std::string, std::string> last;  // "" for a unit without layers: it ends where the next one begins
  std::vector<std::string> inside;
  for (const char* pattern : {"block", "layer"})
    for (const Unit& unit : find_units(graph, {pattern, {}})) {
      last.emplace(unit.name, unit.layers.empty() ? "" : unit.layers.back());
      inside.insert(inside.end(), unit.layers.begin(), unit.layers.end());
    }
  for (const std::string& layer : inside) last.emplace(layer, layer);
  std::vector<std::string> layers, known;
  for (const auto& [name, layer] : last) known.push_back(name);
  for (const std::string& name : names) {
    const auto unit = last.find(name);
    if (unit == last.end()) fail_unknown_name("layer or unit in 'units'", name, known);
    if (!unit->second.empty()) layers.push_back(unit->second);
  }
  QUENCH_CHECK(!layers.empty(), "no unit in 'units' has a layer that could learn (", joined_in_quotes(names), ")");
  return layers;
}

}  // namespace

Unit find_unit(const Graph& graph, const std::string& name) {
  std::vector<std::string> known;
  for (const char* pattern : {"block", "layer"})
    for (const Unit& unit : find_units(graph, {pattern, {}})) {
      if (unit.name == name) return unit;
      known.push_back(unit.name);
    }
  const Node* node = graph.find_node(name);
  if (!node) fail_unknown_name("block, layer or node", name, known);
  Unit unit;
  unit.name = name;
  unit.nodes = {name};
  for (const Value* input : node->inputs())
    if (input && !input->is_constant()) unit.inputs.push_back(input->name());
  for (const Value* output : node->outputs())
    if (output) unit.outputs.push_back(output->name());
  return unit;
}

std::vector<Unit> find_units(const Graph& graph, const UnitOptions& options) {
  check_not_converted(graph, "no unit of it can learn");
  const Flow flow(graph);
  const Cutter cutter(flow);
  std::vector<Stretch> stretches;
  if (!options.ends.empty())
    stretches = by_ends(flow, cutter, ending_layers(graph, options.ends));
  else if (options.pattern == "layer")
    stretches = cutter.layers({0, flow.size()});
  else if (options.pattern == "block")
    stretches = cutter.blocks();
  else
    fail_unknown_name("unit pattern", options.pattern, {"block", "layer"});
  std::vector<Unit> units;
  std::map<std::string, int> names;
  for (const Stretch& stretch : with_targets(flow, cutter, stretches)) {
    units.push_back(unit_of(flow, cutter, stretch));
    const int number = ++names[units.back().name];
    if (number > 1) units.back().name += concat(" (", number, ")");
  }
  return units;
}

}  // namespace quench
