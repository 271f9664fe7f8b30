// What is wrong with the options of training is said before any work is done.
#include "qat/optimizer.h"
#include "qat/schedule.h"
#include "quench/error.h"
#include "quench/metric.h"
#include "quench/train_loop.h"

namespace quench {
namespace {

void check_share(const char* name, double value, double below) {
  QUENCH_CHECK(value >= 0 && value < below, name, " is ", value, "; it must be at least 0 and below ", below);
}

void check_optimizer(const OptimizerOptions& optimizer) {
  check_optimizer_name(optimizer.name);
  QUENCH_CHECK(optimizer.lr > 0, "lr is ", optimizer.lr, "; it must be above 0");
  QUENCH_CHECK(optimizer.scale_lr.value_or(0) >= 0, "scale_lr is ", *optimizer.scale_lr, "; it must be at least 0");
  QUENCH_CHECK(optimizer.weight_decay >= 0, "weight_decay is ", optimizer.weight_decay, "; it must be at least 0");
  check_share("momentum", optimizer.momentum, 1.0);
  check_share("beta1", optimizer.beta1, 1.0);
  check_share("beta2", optimizer.beta2, 1.0);
  QUENCH_CHECK(optimizer.epsilon > 0, "epsilon is ", optimizer.epsilon, "; it must be above 0");
}

}  // namespace

void check_train_options(const TrainOptions& options) {
  checked_loop_options(options.loop, options.loop_options);
  QUENCH_CHECK(options.epochs >= 1, "epochs is ", options.epochs, "; at least 1 is needed");
  QUENCH_CHECK(options.batch >= 1, "batch is ", options.batch, "; at least 1 is needed");
  check_optimizer(options.optimizer);
  check_share("label_smoothing", options.label_smoothing, 1.0);
  check_share("ema", options.ema, 1.0);
  QUENCH_CHECK(options.distill.weight >= 0 && options.distill.weight <= 1, "distill.weight is ", options.distill.weight,
               "; it must lie between 0 and 1");
  QUENCH_CHECK(options.distill.temperature > 0, "distill.temperature is ", options.distill.temperature,
               "; it must be above 0");
  QUENCH_CHECK(options.augment.crop >= 0, "augment.crop is ", options.augment.crop, "; it must be at least 0");
  QUENCH_CHECK(options.clip_norm >= 0, "clip_norm is ", options.clip_norm, "; it must be at least 0");
  QUENCH_CHECK(options.val_interval >= 1, "val_interval is ", options.val_interval, "; at least 1 is needed");
  for (const auto& [from, interval] : options.dynamic_intervals)
    QUENCH_CHECK(interval >= 1, "dynamic_intervals has the interval ", interval, "; at least 1 is needed");
  QUENCH_CHECK(
      options.max_steps >= 0 && options.checkpoint_every >= 0 && options.freeze_bn_step >= 0 && options.log_every >= 1,
      "max_steps, checkpoint_every and freeze_bn_step must be at least 0, log_every at least 1");
  QUENCH_CHECK(!options.resume || !options.folder.empty(), "to resume, the folder with the checkpoint must be given");
  check_schedule(options.schedule, options.epochs);
  if (!options.metric.empty()) make_metric(parse_metric(options.metric));
}

}  // namespace quench
