#include "quantize/train_defaults.h"

#include "quantize/method_defaults.h"
#include "quench/fake_quant.h"
#include "quench/platform.h"

namespace quench {
namespace {

template <typename T>
void fill(std::optional<T>& setting, T value) {
  if (!setting) setting = std::move(value);
}

// The platform's own, if its scale learns: a target that rounds in its own way trains with that.
std::string learning_quantizer(const QuantSettings& usual) {
  const FakeQuantEntry* entry = usual.fake_quant ? FakeQuantRegistry::instance().find(*usual.fake_quant) : nullptr;
  return entry && entry->learns_scale ? *usual.fake_quant : "lsq";
}

// A loop that observes while it trains needs observers that can be refreshed at every step.
void fill_for_loop(QuantSettings& settings, const QuantSettings& usual, const std::string& loop) {
  const bool follows = loop == "qat_epoch";
  fill(settings.fake_quant, follows ? std::string("fixed") : learning_quantizer(usual));
  if (follows || loop == "lsq_epoch") fill(settings.observer, std::string(follows ? "ema_min_max" : "lsq"));
}

}  // namespace

JobConfig with_train_defaults(JobConfig config) {
  if (config.train && config.train->metric.empty() && !config.metrics.empty()) config.train->metric = config.metrics[0];
  if (!config.train || config.quant.platform.empty()) return config;
  QuantSettings &weight = config.quant.weight, &activation = config.quant.activation;
  const Platform& platform = find_platform(config.quant.platform);
  if (!config.quant.parity && !platform.fixed_schemes) {
    fill_for_loop(weight, platform.weight, config.train->loop);
    fill_for_loop(activation, platform.activation, config.train->loop);
  }
  if (!platform.user_schemes) return config;
  fill(weight.granularity, Granularity::kChannel);
  fill(weight.symmetric, true);
  fill(activation.granularity, Granularity::kTensor);
  fill(activation.symmetric, false);
  fill(activation.is_signed, false);
  for (QuantSettings* settings : {&weight, &activation}) fill(settings->observer, std::string("mse"));
  return config;
}

TrainOptions train_options(const JobConfig& config, const QuantizeOptions& options, const Graph& original) {
  TrainOptions train = *config.train;
  if (config.quant.parity && !train.optimizer.scale_lr) train.optimizer.scale_lr = train.optimizer.lr;  // one rate
  train.seed = config.seed;
  train.device = config.calibration.device;
  train.workers = config.calibration.workers;
  train.folder = options.training;
  train.resume = options.resume;
  train.processes = options.processes;
  train.epoch_done = options.epoch_done;
  train.start_measured = options.start_measured;
  train.reference = &original;
  train.stop = options.stop;
  if (options.progress)
    train.progress = [show = options.progress](auto done, auto total, double) { show("training", done, total); };
  return train;
}

JobConfig with_platform_defaults(JobConfig config) {
  config = with_train_defaults(with_method_defaults(std::move(config)));
  if (config.quant.platform.empty() || config.quant.parity || config.train) return config;
  const Platform& platform = find_platform(config.quant.platform);
  if (!config.equalize) config.equalize = platform.equalize;
  if (!config.smooth) config.smooth = platform.smooth;
  // Learned rounding makes up for the mean error itself; a correction for the nearest rounding would be in its way.
  if (!config.bias_correction)
    config.bias_correction = config.method.name.empty() ? platform.bias_correction : BiasCorrection::kNone;
  return config;
}

}  // namespace quench
