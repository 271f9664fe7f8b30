// QConfigs: presets, which module has which, and the rules that a platform understands.
#include <algorithm>
#include <regex>

#include "calibrate/eager_rules.h"
#include "calibrate/module_of_node.h"
#include "platforms/plan/match.h"
#include "platforms/plan/unobserved.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/plan_builder.h"
#include "quench/platform.h"

namespace quench {
namespace {

using Rule = QConfigMapping::Rule;
using By = QConfigMapping::By;

std::regex regex_of(const Rule& rule) {
  try {
    return std::regex(rule.text);
  } catch (const std::regex_error& error) {
    fail("the regex '", rule.text, "' of a qconfig cannot be read: ", error.what());
  }
}

// The submodules that a rule matches.
std::vector<const ModuleInfo*> modules_of(const Rule& rule, const std::vector<ModuleInfo>& modules) {
  std::vector<const ModuleInfo*> found;
  const std::regex regex = rule.by == By::kRegex ? regex_of(rule) : std::regex();
  for (const ModuleInfo& module : modules) {
    if (module.name.empty()) continue;
    const bool meant = rule.by == By::kType ? module.type == rule.text
                       : rule.by == By::kName
                           ? module.name == rule.text
                           : std::regex_search(module.name, regex, std::regex_constants::match_continuous);
    if (meant) found.push_back(&module);
  }
  return found;
}

class Chooser {
 public:
  Chooser(const QConfigMapping& mapping, const std::vector<ModuleInfo>& modules, const Graph& graph)
      : mapping_(mapping), module_of_(modules_of_nodes(modules, graph)) {
    for (const Rule& rule : mapping.rules()) modules_.push_back(modules_of(rule, modules));
    used_.assign(modules_.size(), false);
  }

  // The last rule that matches the layer; null if none does.
  const Rule* rule_for(const Layer& layer) {
    const Rule* found = nullptr;
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      if (!means(i, layer)) continue;
      found = &mapping_.rules()[i];
      used_[i] = true;
    }
    return found;
  }

  void check_used() const {
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const std::string& text = mapping_.rules()[i].text;
      QUENCH_CHECK(used_[i], "the qconfig of '", text, "' matches no layer: ",
                   modules_[i].empty() ? "no submodule, type or node has that name"
                                       : "a module without parameters has no name in the graph, and from its place it "
                                         "cannot be told which node is its own; name the node instead (\"conv2.add\"), "
                                         "or its operator as a type");
    }
  }

 private:
  bool means(std::size_t i, const Layer& layer) const {
    const Rule& rule = mapping_.rules()[i];
    if (rule.by == By::kType && layer.op() == rule.text) return true;
    if (rule.by == By::kName && is_named(layer.head(), rule.text)) return true;
    const auto behind = module_of_.find(layer.head().name());
    // What follows a layer without a name of its own is called after it ("conv.add") and yet not part of it.
    return std::any_of(modules_[i].begin(), modules_[i].end(), [&](const ModuleInfo* module) {
      if (module->has_tensors) return is_named(layer.head(), module->name);
      return is_inside(layer.head(), module->name) || (behind != module_of_.end() && behind->second == module->name);
    });
  }

  const QConfigMapping& mapping_;
  std::map<std::string, std::string> module_of_;  // by node
  std::vector<std::vector<const ModuleInfo*>> modules_;
  std::vector<bool> used_;
};

bool quantizes_weight(const QuantPlan& plan, const Layer& layer) {
  const int slot = entry_of(layer.head()).traits.weight_slot;
  const Value* weight = slot < 0 ? nullptr : layer.head().input(slot);
  return weight && plan.find(weight->name());
}

LayerRule rule_of(const Layer& layer, const std::optional<QConfig>& qconfig) {
  LayerRule rule;
  rule.match = "=" + layer.head().name();  // "conv2" would cover the "conv2.add" that follows it
  rule.keep_float = !qconfig;
  if (!qconfig) return rule;
  rule.weight = qconfig->weight;
  rule.output = qconfig->activation;
  return rule;
}

// Without the observers that leave all weights or activations float: a module's own qconfig may quantize them.
QuantConfig observed_everywhere(QuantConfig config) {
  for (QuantSettings* settings : {&config.weight, &config.activation}) {
    if (!leaves_float(settings->observer.value_or(""))) continue;
    settings->observer = "min_max";
    settings->observer_options = {};
  }
  return config;
}

}  // namespace

QConfig get_default_qconfig(const std::string& backend) {
  const Platform& platform = find_platform(backend);
  QUENCH_CHECK(!platform.user_schemes, "platform '", backend, "' has no defaults: fill in a QConfig yourself");
  return {platform_name(backend), platform.activation, platform.weight};
}

QConfig get_default_qat_qconfig(const std::string& backend) {
  constexpr double kAveragingConstant = 0.01;  // torch's
  QConfig qconfig = get_default_qconfig(backend);
  for (QuantSettings* settings : {&qconfig.activation, &qconfig.weight}) {
    settings->observer = "ema_min_max";
    settings->observer_options = {{"averaging_constant", kAveragingConstant}};
  }
  return qconfig;
}

QConfigMapping& QConfigMapping::set_global(std::optional<QConfig> qconfig) {
  global_ = std::move(qconfig);
  return *this;
}

QConfigMapping& QConfigMapping::set_object_type(const std::string& type, std::optional<QConfig> qconfig) {
  return add(By::kType, type, std::move(qconfig));
}

QConfigMapping& QConfigMapping::set_module_name_regex(const std::string& regex, std::optional<QConfig> qconfig) {
  return add(By::kRegex, regex, std::move(qconfig));
}

QConfigMapping& QConfigMapping::set_module_name(const std::string& name, std::optional<QConfig> qconfig) {
  return add(By::kName, name, std::move(qconfig));
}

QConfigMapping& QConfigMapping::add(By by, const std::string& text, std::optional<QConfig> qconfig) {
  const auto same =
      std::find_if(rules_.begin(), rules_.end(), [&](const Rule& rule) { return rule.by == by && rule.text == text; });
  if (same != rules_.end()) {
    same->qconfig = std::move(qconfig);
    return *this;
  }
  // The last rule that matches a layer is its own: a submodule's name is longer than that of the module around it, and
  // of regexes torch takes the first.
  const auto comes_later = [&](const Rule& rule) {
    if (rule.by != by) return rule.by > by;
    return by == By::kRegex || (by == By::kName && rule.text.size() > text.size());
  };
  rules_.insert(std::find_if(rules_.begin(), rules_.end(), comes_later), {by, text, std::move(qconfig)});
  return *this;
}

std::string backend_of(const QConfigMapping& mapping) {
  if (mapping.global()) return mapping.global()->backend;
  for (const Rule& rule : mapping.rules())
    if (rule.qconfig) return rule.qconfig->backend;
  fail("nothing in the model has a qconfig: qconfig.set_global(get_default_qconfig(\"fbgemm\")) sets one");
}

void apply_mapping(const QConfigMapping& mapping, const std::vector<ModuleInfo>& modules, const Graph& graph,
                   QuantConfig& config) {
  if (mapping.global()) {
    config.activation = mapping.global()->activation;
    config.weight = mapping.global()->weight;
  }
  PlanBuilder builder(graph, config.platform, config);
  Chooser chooser(mapping, modules, graph);
  std::vector<std::pair<const Layer*, LayerRule>> with_settings;
  for (const Layer& layer : builder.layers()) {
    const Rule* rule = chooser.rule_for(layer);
    if (rule ? !rule->qconfig : !mapping.global())
      config.layers.push_back(rule_of(layer, std::nullopt));
    else if (rule)
      with_settings.emplace_back(&layer, rule_of(layer, rule->qconfig));
  }
  chooser.check_used();
  // Settings only where there is something to set: a layer without quantizers ignores its qconfig, as in torch.
  const QuantPlan plan = make_plan(graph, observed_everywhere(config));
  for (auto& [layer, rule] : with_settings) {
    if (!quantizes_weight(plan, *layer)) rule.weight = {};
    if (!plan.find(layer->output().name())) rule.output = {};
    if (!rule.weight.empty() || !rule.output.empty()) config.layers.push_back(std::move(rule));
  }
}

}  // namespace quench
