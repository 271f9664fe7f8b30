// The learning rate over the steps: a warm-up, then a shape by name.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "quench/error.h"
#include "quench/registry.h"
#include "quench/train.h"

namespace quench {
namespace {

using Shape = double (*)(const ScheduleOptions& schedule, double epoch, double epochs);

double constant(const ScheduleOptions&, double, double) { return 1.0; }

double step(const ScheduleOptions& schedule, double epoch, double) {
  return std::pow(schedule.gamma, std::floor(epoch / schedule.step_epochs));
}

double multi_step(const ScheduleOptions& schedule, double epoch, double) {
  const auto passed = std::count_if(schedule.milestones.begin(), schedule.milestones.end(),
                                    [&](double milestone) { return epoch >= milestone; });
  return std::pow(schedule.gamma, static_cast<double>(passed));
}

// From the end of the warm-up on.
double cosine(const ScheduleOptions& schedule, double epoch, double epochs) {
  const double length = std::max(epochs - schedule.warmup_epochs, 1e-9);
  const double part = std::clamp((epoch - schedule.warmup_epochs) / length, 0.0, 1.0);
  return schedule.end + (1 - schedule.end) * 0.5 * (1 + std::cos(std::numbers::pi * part));
}

const std::map<std::string, Shape> kShapes = {
    {"constant", constant}, {"step", step}, {"multi_step", multi_step}, {"cosine", cosine}};

Shape shape_of(const std::string& name) {
  const auto found = kShapes.find(name);
  if (found != kShapes.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, shape] : kShapes) names.push_back(known);
  fail_unknown_name("schedule", name, names);
}

void check_schedule(const ScheduleOptions& schedule, int epochs) {
  shape_of(schedule.name);
  QUENCH_CHECK(schedule.warmup_epochs >= 0 && schedule.warmup_epochs <= epochs, "the warm-up takes ",
               schedule.warmup_epochs, " epochs; it must lie between 0 and all ", epochs, " of them");
  QUENCH_CHECK(schedule.step_epochs > 0, "step_epochs is ", schedule.step_epochs, "; it must be above 0");
  for (const auto& [name, share] : {std::pair("schedule.end", schedule.end), {"warmup_start", schedule.warmup_start}})
    QUENCH_CHECK(share >= 0 && share <= 1, name, " is ", share, "; it is a share of the rate, from 0 to 1");
  QUENCH_CHECK(schedule.gamma > 0, "gamma is ", schedule.gamma, "; it must be above 0");
}

void check_share(const char* name, double value, double below) {
  QUENCH_CHECK(value >= 0 && value < below, name, " is ", value, "; it must be at least 0 and below ", below);
}

}  // namespace

double schedule_factor(const ScheduleOptions& schedule, std::int64_t now, std::int64_t per_epoch, int epochs) {
  const double epoch = static_cast<double>(now) / static_cast<double>(std::max<std::int64_t>(per_epoch, 1));
  const double shape = shape_of(schedule.name)(schedule, epoch, epochs);
  if (epoch >= schedule.warmup_epochs) return shape;
  // The first step already moves.
  const double part = (epoch + 1.0 / static_cast<double>(per_epoch)) / schedule.warmup_epochs;
  return shape * (schedule.warmup_start + (1 - schedule.warmup_start) * std::min(part, 1.0));
}

void check_train_options(const TrainOptions& options) {
  QUENCH_CHECK(options.epochs >= 1, "epochs is ", options.epochs, "; at least 1 is needed");
  QUENCH_CHECK(options.batch >= 1, "batch is ", options.batch, "; at least 1 is needed");
  QUENCH_CHECK(options.optimizer.lr > 0, "lr is ", options.optimizer.lr, "; it must be above 0");
  QUENCH_CHECK(options.optimizer.scale_lr.value_or(0) >= 0, "scale_lr is ", *options.optimizer.scale_lr,
               "; it must be at least 0");
  QUENCH_CHECK(options.optimizer.weight_decay >= 0, "weight_decay is ", options.optimizer.weight_decay,
               "; it must be at least 0");
  check_share("momentum", options.optimizer.momentum, 1.0);
  check_share("beta1", options.optimizer.beta1, 1.0);
  check_share("beta2", options.optimizer.beta2, 1.0);
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
  QUENCH_CHECK(options.optimizer.epsilon > 0, "epsilon is ", options.optimizer.epsilon, "; it must be above 0");
  QUENCH_CHECK(options.max_steps >= 0 && options.checkpoint_every >= 0 && options.log_every >= 1,
               "max_steps and checkpoint_every must be at least 0, log_every at least 1");
  QUENCH_CHECK(!options.resume || !options.folder.empty(), "to resume, the folder with the checkpoint must be given");
  check_schedule(options.schedule, options.epochs);
}

}  // namespace quench
