#include "measure/profile_layers.h"

#include <algorithm>
#include <map>
#include <set>

#include "platforms/plan/layers.h"
#include "platforms/plan/platform_of_model.h"
#include "quench/op.h"

namespace quench {
namespace {

// Those of the platform that the model was quantized for.
std::vector<OpChain> groups_of(const QuantizedModel& model) {
  return model.plan.platform.empty() ? standard_groups() : platform_of(model).groups;
}
std::vector<std::string> weighted_of(const QuantizedModel& model) {
  return model.plan.platform.empty() ? standard_weighted() : platform_of(model).weighted;
}

class Walk {
 public:
  Walk(const Graph& plain, const QuantizedModel& quantized)
      : quantized_(quantized.graph),
        constants_(constant_values(plain)),
        layers_(find_layers(plain, groups_of(quantized), QuantConfig())),
        weighted_(weighted_of(quantized)) {
    for (const auto& node : plain.nodes()) order_[node.get()] = static_cast<int>(order_.size());
    // A group ends with its last node: what that reads may be made after the group's first.
    std::stable_sort(layers_.begin(), layers_.end(),
                     [&](const Layer& a, const Layer& b) { return order_.at(&a.last()) < order_.at(&b.last()); });
  }

  std::vector<ProfileLayer> all() const {
    std::vector<ProfileLayer> list;
    for (const Layer& layer : layers_) {
      ProfileLayer one{layer.head().name(), layer.op(), inputs_of(layer), outputs_of(layer), "", "", false};
      if (one.outputs.empty()) continue;
      one.stays_float = stays_float(layer);
      if (one.stays_float || is_touched(layer)) compare(layer, one);
      list.push_back(std::move(one));
    }
    return list;
  }

 private:
  static bool holds(const Layer& layer, const Node* node) {
    return std::find(layer.nodes.begin(), layer.nodes.end(), node) != layer.nodes.end();
  }

  std::vector<std::string> inputs_of(const Layer& layer) const {
    std::set<std::string> names;
    for (const Node* node : layer.nodes)
      for (const Value* input : node->inputs())
        if (input && !constants_.contains(input) && !holds(layer, input->producer())) names.insert(input->name());
    return {names.begin(), names.end()};
  }

  std::vector<std::string> outputs_of(const Layer& layer) const {
    std::vector<std::string> names;
    for (const Node* node : layer.nodes) {
      for (const Value* output : node->outputs()) {
        if (!output || constants_.contains(output)) continue;
        const bool read = std::any_of(output->uses().begin(), output->uses().end(),
                                      [&](const Value::Use& use) { return !holds(layer, use.node); });
        if (read || output->is_graph_output()) names.push_back(output->name());
      }
    }
    return names;
  }

  // Whether a quantizer follows anything that it reads or writes.
  bool is_touched(const Layer& layer) const {
    const auto quantizes = [&](const Value* value) { return value && quantizer_of(quantized_, value->name()); };
    for (const Node* node : layer.nodes)
      if (std::any_of(node->inputs().begin(), node->inputs().end(), quantizes) ||
          std::any_of(node->outputs().begin(), node->outputs().end(), quantizes))
        return true;
    return false;
  }

  // Of a kind that the platform quantizes the weights of, with a weight that it did not.
  bool stays_float(const Layer& layer) const {
    const Node& head = layer.head();
    if (std::find(weighted_.begin(), weighted_.end(), head.op()) == weighted_.end()) return false;
    const auto has_weight = [&](const Value* input) {
      return input && constants_.contains(input) && is_floating(input->dtype()) && input->has_rank() &&
             input->rank() > 1;
    };
    const auto is_quantized = [&](const Value* input) {
      return has_weight(input) && quantizer_of(quantized_, input->name());
    };
    return std::any_of(head.inputs().begin(), head.inputs().end(), has_weight) &&
           std::none_of(head.inputs().begin(), head.inputs().end(), is_quantized);
  }

  void compare(const Layer& layer, ProfileLayer& one) const {
    const Value* output = layer.last().outputs().empty() ? nullptr : layer.last().outputs()[0];
    if (!output || !output->type().is_tensor() || !is_floating(output->dtype())) return;
    if (std::find(one.outputs.begin(), one.outputs.end(), output->name()) == one.outputs.end()) return;
    one.compared = output->name();
    const Node* quantizer = quantizer_of(quantized_, output->name());
    one.quantized = quantizer ? quantizer->output().name() : output->name();
  }

  const Graph& quantized_;
  std::set<const Value*> constants_;
  std::vector<Layer> layers_;
  std::vector<std::string> weighted_;
  std::map<const Node*, int> order_;
};

}  // namespace

std::vector<ProfileLayer> profile_layers(const Graph& plain, const QuantizedModel& quantized) {
  return Walk(plain, quantized).all();
}

}  // namespace quench
