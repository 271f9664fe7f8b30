#include "quantize/method_defaults.h"

#include "quench/platform.h"

namespace quench {
namespace {

template <typename T>
void fill(std::optional<T>& setting, T value) {
  if (!setting) setting = std::move(value);
}

void fill_in(QuantSettings& settings, Granularity granularity) {
  fill(settings.granularity, granularity);
  fill(settings.symmetric, false);
  if (!settings.observer) {
    settings.observer = "mse";
    settings.observer_options = Options{{"p", 2.4}};  // as published for few bits (MQBench)
  }
  fill(settings.fake_quant, std::string("fixed"));
}

}  // namespace

JobConfig with_method_defaults(JobConfig config) {
  if (config.method.name.empty() || config.quant.platform.empty()) return config;
  if (!find_platform(config.quant.platform).user_schemes) return config;
  fill_in(config.quant.weight, Granularity::kChannel);
  fill_in(config.quant.activation, Granularity::kTensor);
  if (!*config.quant.activation.symmetric) fill(config.quant.activation.is_signed, false);
  return config;
}

Options method_options(const JobConfig& config, std::vector<std::string>& notes) {
  Options options = config.method.options;
  if (!config.quant.parity || !options.has("early_stop") || !options.flag("early_stop")) return options;
  options.set("early_stop", 0.0);
  notes.push_back("'method.early_stop' has no effect: the reference runs all iterations");
  return options;
}

}  // namespace quench
