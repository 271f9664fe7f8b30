#include "platforms/plan/settings.h"

#include "quench/error.h"
#include "quench/registry.h"

namespace quench {
namespace {

const char* name_of(Granularity granularity) {
  switch (granularity) {
    case Granularity::kTensor: return "tensor";
    case Granularity::kChannel: return "channel";
    case Granularity::kGroup: return "group";
    case Granularity::kToken: return "token";
    case Granularity::kBlock: return "block";
  }
  return "";
}

template <typename T>
void set(const std::optional<T>& wish, T& field) {
  if (wish) field = *wish;
}

void choose(const std::optional<std::string>& name, const Options& wish, std::string& chosen, Options& options) {
  if (name) {  // with options of its own, even if the name is the one already chosen
    chosen = *name;
    options = {};
  }
  for (const auto& [key, value] : wish.values()) options.set(key, value);
}

}  // namespace

void apply(const QuantSettings& settings, QuantizerDefaults& defaults) {
  QSchemeSpec& scheme = defaults.scheme;
  set(settings.format, scheme.format);
  set(settings.bits, scheme.bits);
  set(settings.is_signed, scheme.is_signed);
  set(settings.symmetric, scheme.symmetric);
  set(settings.narrow, scheme.narrow);
  set(settings.power_of_two_scale, scheme.power_of_two_scale);
  set(settings.granularity, scheme.granularity);
  set(settings.axis, scheme.axis);
  set(settings.group, scheme.group);
  choose(settings.observer, settings.observer_options, defaults.observer, defaults.observer_options);
  choose(settings.fake_quant, settings.fake_quant_options, defaults.fake_quant, defaults.fake_quant_options);
}

QuantizerDefaults defaults_of(const Platform& platform, Role role, bool parity) {
  QuantizerDefaults defaults = platform.activation;
  if (role == Role::kWeight) defaults = platform.weight;
  if (role == Role::kBias) defaults = platform.bias.value_or(platform.weight);
  if (parity && defaults.reference) {
    defaults.observer = defaults.reference->name;
    defaults.observer_options = defaults.reference->options;
  }
  return defaults;
}

void observe_least_error(Platform& platform, std::optional<ObserverChoice> reference) {
  platform.activation.observer = "mse";
  platform.activation.observer_options = {{"p", 1.5}};
  platform.activation.reference = std::move(reference);
  platform.whole_outputs = true;
}

void merge(const QuantSettings& later, QuantSettings& settings) {
  const auto lay = [](const auto& wish, auto& field) {
    if (wish) field = wish;
  };
  lay(later.format, settings.format);
  lay(later.bits, settings.bits);
  lay(later.is_signed, settings.is_signed);
  lay(later.symmetric, settings.symmetric);
  lay(later.narrow, settings.narrow);
  lay(later.power_of_two_scale, settings.power_of_two_scale);
  lay(later.granularity, settings.granularity);
  lay(later.axis, settings.axis);
  lay(later.group, settings.group);
  lay(later.observer, settings.observer);
  lay(later.fake_quant, settings.fake_quant);
}

std::string unmet_wish(const QuantSettings& asked, const PlanEntry& entry) {
  const QSchemeSpec& is = entry.scheme.spec();
  const auto differs = [](const auto& wish, const auto& found) { return wish && *wish != found; };
  if (differs(asked.format, is.format)) return "the format";
  if (differs(asked.bits, is.bits)) return concat("bits ", *asked.bits);
  if (differs(asked.is_signed, is.is_signed)) return *asked.is_signed ? "signed codes" : "unsigned codes";
  if (differs(asked.symmetric, is.symmetric)) return *asked.symmetric ? "a symmetric scheme" : "an affine scheme";
  if (differs(asked.narrow, is.narrow)) return *asked.narrow ? "a narrow range" : "the whole range";
  if (differs(asked.power_of_two_scale, is.power_of_two_scale)) return "pot";
  if (differs(asked.granularity, is.granularity)) return concat("granularity ", name_of(*asked.granularity));
  if (!entry.scheme.per_tensor() && differs(asked.axis, is.axis)) return concat("axis ", *asked.axis);
  if (differs(asked.group, is.group)) return concat("groups of ", *asked.group);
  if (differs(asked.observer, entry.observer)) return concat("the observer ", *asked.observer);
  return differs(asked.fake_quant, entry.fake_quant) ? concat("the fake quantizer ", *asked.fake_quant) : "";
}

bool QuantSettings::empty() const {
  return !format && !bits && !is_signed && !symmetric && !narrow && !power_of_two_scale && !granularity && !axis &&
         !group && !observer && !fake_quant && observer_options.values().empty() && fake_quant_options.values().empty();
}

std::string LayerRule::text() const {
  std::string text = match.empty() ? "" : "match: " + match;
  if (!op.empty()) text += (text.empty() ? "op: " : ", op: ") + op;
  return "{" + text + "}";
}

const char* name_of(BiasCorrection kind) {
  switch (kind) {
    case BiasCorrection::kNone: return "none";
    case BiasCorrection::kFast: return "fast";
    case BiasCorrection::kSequential: return "sequential";
  }
  return "";
}

BiasCorrection bias_correction_from_name(const std::string& name) {
  for (const BiasCorrection kind : {BiasCorrection::kNone, BiasCorrection::kFast, BiasCorrection::kSequential})
    if (name == name_of(kind)) return kind;
  fail_unknown_name("bias correction", name, {"none", "fast", "sequential"});
}

}  // namespace quench
