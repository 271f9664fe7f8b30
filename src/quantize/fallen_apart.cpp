#include "quantize/fallen_apart.h"

#include <algorithm>

#include "core/decimals.h"
#include "core/joined.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::size_t kLayersNamed = 3;

std::string worst_layers(const ProfileRecord& profile) {
  std::vector<LayerProfile> layers = ranked_by_damage(profile);
  layers.resize(std::min(layers.size(), kLayersNamed));
  return joined(layers, ", ", [](const LayerProfile& layer) {
    return concat("'", layer.name, "' (", decimals(layer.standalone.sqnr.value, 1), " dB)");
  });
}

bool has_weights_per_tensor(const QuantPlan& plan) {
  return std::any_of(plan.entries.begin(), plan.entries.end(), [](const PlanEntry& entry) {
    return entry.role == Role::kWeight && entry.derived_from.empty() && entry.scheme.per_tensor();
  });
}

std::string advice(const QuantizeRecord& record, const JobConfig& config) {
  if (config.train)
    return concat(
        "a lower learning rate (--lr; it was ", config.train->optimizer.lr,
        "), more data or epochs, a part of the loss from the float model (--set train.distill.weight=0.5), or "
        "'quench quantize', which does not train");
  std::vector<std::string> tips;
  if (!config.equalize.value_or(false)) tips.emplace_back("--equalize");
  if (config.bias_correction.value_or(BiasCorrection::kNone) == BiasCorrection::kNone)
    tips.emplace_back("--bias-correction fast");
  if (record.plan && has_weights_per_tensor(*record.plan))
    tips.emplace_back("a scale per channel, where the target takes it (--set defaults.weight.granularity=channel)");
  if (!config.quant.activation.observer)
    tips.emplace_back("another observer (--set defaults.activation.observer=mse, or min_max)");
  if (record.profile && !record.profile->layers.empty())
    tips.push_back(concat("the worst layers in float (--set 'layers=[{match: \"",
                          ranked_by_damage(*record.profile).front().name, "\", float: true}]')"));
  if (!record.profile) tips.emplace_back("--profile 8, which names the worst layers");
  return joined(tips, "; ");
}

}  // namespace

std::optional<std::string> fallen_apart_warning(const QuantizeRecord& record, const JobConfig& config) {
  if (!record.agreement || !record.agreement->fallen_apart()) return std::nullopt;
  std::string text = concat("the quantized model has fallen apart: ", agreement_text(*record.agreement));
  if (record.profile && !record.profile->layers.empty())
    text += concat(". Worst layers, each quantized alone: ", worst_layers(*record.profile));
  const std::string tips = advice(record, config);
  return tips.empty() ? text : concat(text, ". Try ", tips);
}

}  // namespace quench
