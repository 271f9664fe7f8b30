#include "quantize/train_defaults.h"

#include "quench/platform.h"

namespace quench {
namespace {

template <typename T>
void fill(std::optional<T>& setting, T value) {
  if (!setting) setting = std::move(value);
}

// A loop that observes while it trains needs observers that can be refreshed at every step.
void fill_for_loop(QuantSettings& settings, const std::string& loop) {
  const bool follows = loop == "qat_epoch";
  fill(settings.fake_quant, std::string(follows ? "fixed" : "lsq"));
  if (follows || loop == "lsq_epoch") fill(settings.observer, std::string(follows ? "ema_min_max" : "lsq"));
}

}  // namespace

JobConfig with_train_defaults(JobConfig config) {
  if (!config.train || config.quant.platform.empty()) return config;
  QuantSettings &weight = config.quant.weight, &activation = config.quant.activation;
  if (!config.quant.parity && !find_platform(config.quant.platform).fixed_schemes)
    for (QuantSettings* settings : {&weight, &activation}) fill_for_loop(*settings, config.train->loop);
  if (!find_platform(config.quant.platform).user_schemes) return config;
  fill(weight.granularity, Granularity::kChannel);
  fill(weight.symmetric, true);
  fill(activation.granularity, Granularity::kTensor);
  fill(activation.symmetric, false);
  fill(activation.is_signed, false);
  for (QuantSettings* settings : {&weight, &activation}) fill(settings->observer, std::string("mse"));
  return config;
}

}  // namespace quench
