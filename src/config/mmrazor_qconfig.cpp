// mmrazor's global_qconfig and qconfig_mapping, docs/config.md 4.
#include "config/aliases.h"
#include "config/mmrazor.h"
#include "config/torch_types.h"
#include "core/joined.h"

namespace quench {
namespace {

// {type: mmrazor.X, ...} or the class name alone; the rest of the map goes to `options`.
std::string read_class(MapReader& map, const std::string& key, const Tree& tree, Options& options) {
  if (tree.is_text()) return without_scope(tree.text);
  MapReader entry(tree, map.path_of(key));
  const auto type = entry.text("type");
  if (!type) fail_at(tree, "'", map.path_of(key), ".type' is missing: the name of a class, mmrazor.MinMaxObserver");
  const Options given = entry.rest_options();
  for (const auto& [option, value] : given.values()) options.set(option, value);
  return without_scope(*type);
}

// Keys that are not the scheme's go to the observer.
TorchScheme read_qscheme(MapReader map, Options& options, bool& says_channel) {
  TorchScheme scheme;
  scheme.bits = static_cast<int>(map.integer("bit", 1).value_or(8));
  scheme.is_signed = map.choice("qdtype", {"quint8", "qint8"}).value_or("quint8") == "qint8";
  scheme.symmetric = map.flag("is_symmetry").value_or(true);
  scheme.narrow = map.flag("is_symmetric_range").value_or(false) && scheme.is_signed && scheme.symmetric;
  if (const auto channel = map.flag("is_per_channel")) scheme.per_channel = *channel, says_channel = true;
  options = map.rest_options();
  return scheme;
}

// LearnableFakeQuantize's constructor; torch's have none that matter here.
void read_fake_quant(MapReader& map, const Tree& tree, const std::string& key, QuantSettings& settings) {
  Options given, options;
  std::string name = at_place(tree, [&] { return fake_quant_name(read_class(map, key, tree, given)); });
  for (const auto& [option, value] : given.values()) {
    if (option == "use_grad_scaling")
      options.set("grad_scaling", value);
    else if (option == "zero_point_trainable")
      name = name == "lsq" && value == OptionValue(1.0) ? "lsq_plus" : name;
    else if (option != "scale" && option != "zero_point")  // those two are set by calibration
      options.set(option, value);
  }
  set_fake_quant(settings, tree, name, options);
}

void read_role(MapReader& map, const std::string& prefix, Role role, QuantSettings& settings, JobConfig& job) {
  Options options;
  bool says_channel = false;
  TorchScheme scheme;
  const Tree* qscheme = map.find(prefix + "qscheme");
  if (qscheme) scheme = read_qscheme({*qscheme, map.path_of(prefix + "qscheme")}, options, says_channel);
  const Tree* observer = map.find(prefix + "observer");
  if (observer) {
    const std::string type = read_class(map, prefix + "observer", *observer, options);
    if (!says_channel) scheme.per_channel = says_per_channel(type);
    set_observer(settings, *observer, type, options);
  } else if (!options.values().empty()) {
    settings.observer_options = options;
  }
  if (qscheme) set_torch_scheme(settings, scheme, role, job);
  if (!observer && !says_channel) settings.granularity.reset();  // no class that could say it
  const std::string key = prefix + "fake_quant", other = prefix + "fakequantize";
  if (const Tree* fake_quant = map.find_any({key.c_str(), other.c_str()}))
    read_fake_quant(map, *fake_quant, key, settings);
}

void add_rule(JobConfig& job, const std::string& match, const std::string& op, const MmrazorQConfig& qconfig,
              bool keep_float) {
  LayerRule rule;
  rule.match = match;
  rule.op = op;
  rule.keep_float = keep_float;
  rule.weight = qconfig.weight;
  rule.activation = qconfig.activation;
  job.quant.layers.push_back(std::move(rule));
}

MmrazorQConfig read_choice(const Tree& tree, const std::string& path, JobConfig& job) {
  return tree.is_null() ? MmrazorQConfig() : read_qconfig({tree, path}, false, job);
}

}  // namespace

MmrazorQConfig read_qconfig(MapReader map, bool complete, JobConfig& job) {
  MmrazorQConfig qconfig;
  read_role(map, "w_", Role::kWeight, qconfig.weight, job);
  read_role(map, "a_", Role::kActivation, qconfig.activation, job);
  map.finish();
  if (!complete) return qconfig;
  for (const char* key : {"w_observer", "a_observer", "w_qscheme", "a_qscheme"})
    if (!map.find(key)) fail_at(map.tree(), "'", map.path_of(key), "' is missing; mmrazor requires all six keys");
  if (!qconfig.weight.fake_quant || !qconfig.activation.fake_quant)
    fail_at(map.tree(), "'", map.path_of(qconfig.weight.fake_quant ? "a_fake_quant" : "w_fake_quant"),
            "' is missing; mmrazor requires all six keys");
  return qconfig;
}

void read_qconfig_mapping(MapReader map, JobConfig& job) {
  if (auto global = map.map("_global_")) apply_global_qconfig(*global, job);
  if (auto types = map.map("object_type"))
    for (const std::string& type : types->rest()) {
      const Tree& choice = *types->tree().find(type);
      const MmrazorQConfig qconfig = read_choice(choice, types->path_of(type), job);
      const std::string ops = joined(at_place(choice, [&] { return operators_of(type); }), "|");
      add_rule(job, "", ops, qconfig, choice.is_null());
    }
  if (auto names = map.map("module_name"))
    for (const std::string& name : names->rest()) {
      const Tree& choice = *names->tree().find(name);
      add_rule(job, name, "", read_choice(choice, names->path_of(name), job), choice.is_null());
    }
  map.finish();
}

}  // namespace quench
