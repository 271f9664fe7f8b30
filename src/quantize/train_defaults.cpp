#include "quantize/train_defaults.h"

#include "quench/platform.h"

namespace quench {
namespace {

template <typename T>
void fill(std::optional<T>& setting, T value) {
  if (!setting) setting = std::move(value);
}

}  // namespace

JobConfig with_train_defaults(JobConfig config) {
  if (!config.train || config.quant.platform.empty()) return config;
  QuantSettings &weight = config.quant.weight, &activation = config.quant.activation;
  if (!config.quant.parity)
    for (QuantSettings* settings : {&weight, &activation}) fill(settings->fake_quant, std::string("lsq"));
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
