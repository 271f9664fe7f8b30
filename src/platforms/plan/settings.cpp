#include "platforms/plan/settings.h"

#include "quench/error.h"
#include "quench/platform_parts.h"
#include "quench/registry.h"

namespace quench {

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

namespace {

// What settings and schemes have in common.
template <typename Visit>
void for_each_field(Visit visit) {
  visit(&QuantSettings::format, &QSchemeSpec::format);
  visit(&QuantSettings::bits, &QSchemeSpec::bits);
  visit(&QuantSettings::is_signed, &QSchemeSpec::is_signed);
  visit(&QuantSettings::symmetric, &QSchemeSpec::symmetric);
  visit(&QuantSettings::narrow, &QSchemeSpec::narrow);
  visit(&QuantSettings::power_of_two_scale, &QSchemeSpec::power_of_two_scale);
  visit(&QuantSettings::granularity, &QSchemeSpec::granularity);
  visit(&QuantSettings::axis, &QSchemeSpec::axis);
  visit(&QuantSettings::group, &QSchemeSpec::group);
}

void choose(const std::optional<std::string>& name, const Options& wish, std::optional<std::string>& chosen,
            Options& options) {
  if (name) {  // with options of its own, even if the name is the one already chosen
    chosen = name;
    options = {};
  }
  for (const auto& [key, value] : wish.values()) options.set(key, value);
}

}  // namespace

void merge(const QuantSettings& later, QuantSettings& settings) {
  for_each_field([&](auto field, auto) {
    if (later.*field) settings.*field = later.*field;
  });
  choose(later.observer, later.observer_options, settings.observer, settings.observer_options);
  choose(later.fake_quant, later.fake_quant_options, settings.fake_quant, settings.fake_quant_options);
}

QuantizerSpec resolved(const QuantSettings& settings) {
  QSchemeSpec scheme;
  for_each_field([&](auto from, auto to) {
    if (settings.*from) scheme.*to = *(settings.*from);
  });
  QuantizerSpec spec;
  spec.scheme = QScheme(scheme);
  spec.observer = settings.observer.value_or(spec.observer);
  spec.observer_options = settings.observer_options;
  spec.fake_quant = settings.fake_quant.value_or(spec.fake_quant);
  spec.fake_quant_options = settings.fake_quant_options;
  return spec;
}

QuantSettings usual_settings() {
  QuantSettings settings = observed_by("min_max");
  settings.set_scheme(QScheme());
  settings.fake_quant = "lsq";
  return settings;
}

QuantSettings defaults_of(const Platform& platform, Role role, bool parity) {
  if (role == Role::kWeight) return platform.weight;
  if (role == Role::kBias) return platform.bias.value_or(platform.weight);
  QuantSettings defaults = platform.activation;
  if (parity) merge(platform.reference, defaults);
  return defaults;
}

QuantSettings observed_by(const std::string& observer, const Options& options) {
  QuantSettings settings;
  settings.observer = observer;
  settings.observer_options = options;
  return settings;
}

void observe_least_error(Platform& platform, const QuantSettings& reference) {
  merge(observed_by("mse", {{"p", 1.5}}), platform.activation);
  platform.reference = reference;
  platform.whole_outputs = true;
}

void correct_by_default(Platform& platform) {
  platform.bias_correction = BiasCorrection::kFast;
  platform.equalize = true;
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

void QuantSettings::set_scheme(const QScheme& scheme) {
  const std::optional<int> kept = axis;
  for_each_field([&](auto to, auto from) { this->*to = scheme.spec().*from; });
  axis = kept;
}

bool QuantSettings::empty() const {
  bool said = observer || fake_quant || !observer_options.values().empty() || !fake_quant_options.values().empty();
  for_each_field([&](auto field, auto) { said = said || this->*field; });
  return !said;
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
