#include "quantize/fallen_apart.h"

#include <algorithm>

#include "core/decimals.h"
#include "core/joined.h"
#include "qat/training_notes.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::size_t kLayersNamed = 3;
constexpr int kUsualBits = 8;

// Worst first, without those that stay float already.
std::vector<LayerProfile> layers_to_blame(const ProfileRecord& profile) {
  std::vector<LayerProfile> layers = ranked_by_damage(profile);
  std::erase_if(layers, [](const LayerProfile& layer) { return layer.stays_float; });
  return layers;
}

std::string worst_layers(const std::vector<LayerProfile>& layers) {
  const std::vector<LayerProfile> named(
      layers.begin(), layers.begin() + static_cast<std::ptrdiff_t>(std::min(layers.size(), kLayersNamed)));
  return joined(named, ", ", [](const LayerProfile& layer) {
    const std::string part = layer.worst();
    return concat("'", layer.name, "' (", decimals(layer.standalone.sqnr.value, 1), " dB",
                  part.empty() ? "" : concat(", most by its ", part), ")");
  });
}

template <typename Wanted>
bool has_entry(const std::optional<QuantPlan>& plan, const Wanted& wanted) {
  return plan && std::any_of(plan->entries.begin(), plan->entries.end(),
                             [&](const PlanEntry& entry) { return entry.derived_from.empty() && wanted(entry); });
}

bool has_few_bits(const PlanEntry& entry) { return entry.scheme.bits() < kUsualBits; }

using Tips = std::vector<std::string>;

void advise_on_training(const TrainOptions& train, const QuantizeRecord& record, Tips& tips) {
  const std::string rate = concat(train.optimizer.lr, " (TrainOptions::optimizer)");
  if (record.trained && still_falls(*record.trained)) {
    tips.emplace_back("more epochs: the training loss still falls");
    tips.push_back(concat("another learning rate than ", rate));
  } else {
    tips.push_back(concat("a learning rate below ", rate));
    tips.emplace_back("more data or epochs");
  }
  if (train.distill.weight == 0)
    tips.emplace_back("a part of the loss from the float model (the setting train.distill.weight=0.5)");
  tips.emplace_back("quantizing without training");
}

// Learned rounding makes up for what the two corrections would.
void advise_on_corrections(const JobConfig& config, const QuantizeRecord& record, Tips& tips) {
  if (!config.method.name.empty()) return;
  if (!config.equalize.value_or(false)) tips.emplace_back("balanced channels (the setting equalize=true)");
  if (config.bias_correction.value_or(BiasCorrection::kNone) == BiasCorrection::kNone)
    tips.emplace_back("corrected biases (the setting bias_correction=fast)");
  if (has_entry(record.plan, has_few_bits)) tips.emplace_back("learned rounding (the setting method.name=blockwise)");
}

void advise_on_schemes(const QuantizeRecord& record, Tips& tips) {
  const auto is_weight = [](bool per_tensor) {
    return [per_tensor](const PlanEntry& entry) {
      return entry.role == Role::kWeight && entry.scheme.per_tensor() == per_tensor;
    };
  };
  if (has_entry(record.plan, is_weight(true)) && !has_entry(record.plan, is_weight(false)))
    tips.emplace_back(
        "a scale per channel, where the target takes it (the setting defaults.weight.granularity=channel)");
  const auto observes_by = [](const char* observer) {
    return [observer](const PlanEntry& entry) { return entry.role == Role::kActivation && entry.observer == observer; };
  };
  for (const char* observer : {"mse", "min_max"})
    if (record.plan && !has_entry(record.plan, observes_by(observer)))
      tips.push_back(concat("another observer (the setting defaults.activation.observer=", observer, ")"));
  if (has_entry(record.plan, has_few_bits)) tips.emplace_back("more bits");
}

void advise_on_layers(const QuantizeRecord& record, Tips& tips) {
  const std::vector<LayerProfile> worst =
      record.profile ? layers_to_blame(*record.profile) : std::vector<LayerProfile>();
  if (!worst.empty())
    tips.push_back(concat("the worst layers in float (the setting 'layers=[{match: \"", worst.front().name,
                          "\", float: true}]')"));
  if (!record.profile) tips.emplace_back("a profile, which names the worst layers (QuantizeData::profile)");
}

std::string advice(const QuantizeRecord& record, const JobConfig& config) {
  Tips tips;
  if (config.train) {
    advise_on_training(*config.train, record, tips);
  } else {
    advise_on_corrections(config, record, tips);
    advise_on_schemes(record, tips);
    advise_on_layers(record, tips);
  }
  return joined(tips, "; ");
}

}  // namespace

std::optional<std::string> fallen_apart_warning(const QuantizeRecord& record, const JobConfig& config) {
  if (!record.agreement || !record.agreement->fallen_apart()) return std::nullopt;
  std::string text = concat("the quantized model has fallen apart: ", agreement_text(*record.agreement, record.item));
  const std::vector<LayerProfile> worst =
      record.profile ? layers_to_blame(*record.profile) : std::vector<LayerProfile>();
  if (!worst.empty()) text += concat(". Worst layers, each quantized alone: ", worst_layers(worst));
  const std::string tips = advice(record, config);
  return tips.empty() ? text : concat(text, ". Try ", tips);
}

}  // namespace quench
