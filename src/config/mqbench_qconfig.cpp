// MQBench's quantizer settings: extra_qconfig_dict (docs/config.md 3), and a_qconfig / w_qconfig of its NLP and ViT
// examples.
#include "config/aliases.h"
#include "config/mqbench.h"

namespace quench {
namespace {

// MQBench searches each batch on its own and keeps the widest range, or their moving average.
Options as_mqbench(const std::string& observer, Options options) {
  if ((observer == "mse" || observer == "ema_mse") && !options.has("on")) options.set("on", "batch");
  return options;
}

void set_mqbench_observer(QuantSettings& settings, const Tree* name, const std::string& path, const Options& options) {
  if (!name) {
    settings.observer_options = options;
    return;
  }
  const std::string given = text_of(*name, path);
  const std::string observer = at_place(*name, [&] { return observer_name(given); });
  set_observer(settings, *name, given, as_mqbench(observer, options));
}

// Keys that are not the scheme's go to the observer.
TorchScheme read_qscheme(MapReader map, Options& observer_options) {
  TorchScheme scheme;
  scheme.bits = static_cast<int>(map.integer("bit", 1).value_or(8));
  scheme.symmetric = scheme.is_signed = map.flag("symmetry").value_or(true);
  scheme.per_channel = map.flag("per_channel").value_or(false);
  scheme.pot = map.flag("pot_scale").value_or(false);
  scheme.narrow = map.flag("symmetric_range").value_or(false) && scheme.symmetric;
  observer_options = map.rest_options();
  return scheme;
}

// What w_fakeq_params and a_fakeq_params may hold depends on the fake quantizer.
Options read_fakeq_params(MapReader map, const std::string& fake_quant, JobConfig& job) {
  Options options;
  if (fake_quant == "dsq") {
    if (const auto alpha = map.number("alpha")) options.set("alpha", *alpha);
  } else if (fake_quant == "pact") {
    if (map.number("alpha").value_or(6.0) != 6.0) keep(job, JobStage::kQuantize, map, {"alpha"});
  } else if (fake_quant == "lsq") {
    if (const auto scaling = map.flag("use_grad_scaling")) options.set("grad_scaling", *scaling ? 1.0 : 0.0);
  }
  if (fake_quant == "lsq" || fake_quant == "tqt") skip(job, map, {"scale", "zero_point"}, "calibration sets them");
  map.finish();
  return options;
}

void read_fake_quant(MapReader& map, const std::string& prefix, QuantSettings& settings, JobConfig& job) {
  const std::string key = prefix + "fakequantize";
  const Tree* name = map.find_any({key.c_str(), (prefix + "fake_quant").c_str()});
  auto params = map.map(prefix + "fakeq_params");
  if (!name) {
    if (params && !params->tree().entries.empty())
      fail_at(params->tree(), "'", map.path_of(prefix + "fakeq_params"), "' needs '", map.path_of(key), "' beside it");
    return;
  }
  const std::string given = text_of(*name, map.path_of(key));
  const std::string fake_quant = at_place(*name, [&] { return fake_quant_name(given); });
  set_fake_quant(settings, *name, fake_quant, params ? read_fakeq_params(*params, fake_quant, job) : Options());
}

void read_role(MapReader& map, const std::string& prefix, Role role, QuantSettings& settings, JobConfig& job) {
  Options options;
  if (auto qscheme = map.map(prefix + "qscheme"))
    set_torch_scheme(settings, read_qscheme(*qscheme, options), role, job);
  if (const auto extra = map.options(prefix + "observer_extra_args"))
    for (const auto& [name, value] : extra->values()) options.set(name, value);
  set_mqbench_observer(settings, map.find(prefix + "observer"), map.path_of(prefix + "observer"), options);
  read_fake_quant(map, prefix, settings, job);
}

}  // namespace

void read_extra_qconfig(MapReader map, JobConfig& job) {
  read_role(map, "w_", Role::kWeight, job.quant.weight, job);
  read_role(map, "a_", Role::kActivation, job.quant.activation, job);
  map.finish();
}

void read_nlp_qconfig(MapReader map, Role role, bool pot, JobConfig& job) {
  QuantSettings& settings = role == Role::kWeight ? job.quant.weight : job.quant.activation;
  TorchScheme scheme;
  scheme.bits = static_cast<int>(map.integer("bit", 1).value_or(8));
  scheme.symmetric = scheme.is_signed = map.flag("symmetric").value_or(true);
  scheme.per_channel = map.flag("per_channel").value_or(false);
  if (const auto axis = map.integer("ch_axis", -1)) scheme.per_channel = *axis >= 0;
  scheme.pot = pot;
  set_torch_scheme(settings, scheme, role, job);
  set_mqbench_observer(settings, map.find("observer"), map.path_of("observer"), {});
  if (const auto quantizer = map.text("quantizer")) set_fake_quant(settings, *map.find("quantizer"), *quantizer, {});
  map.finish();
}

}  // namespace quench
