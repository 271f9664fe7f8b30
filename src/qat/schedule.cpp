// The learning rate over the steps: a warm-up, then a shape by name.
#include "qat/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "data/batch_size.h"
#include "quench/error.h"
#include "quench/registry.h"

namespace quench {
namespace {

using Shape = double (*)(const ScheduleOptions& schedule, double epoch, double warmup, double epochs);

double constant(const ScheduleOptions&, double, double, double) { return 1.0; }

double step(const ScheduleOptions& schedule, double epoch, double, double) {
  return std::pow(schedule.gamma, std::floor(epoch / schedule.step_epochs));
}

double multi_step(const ScheduleOptions& schedule, double epoch, double, double) {
  const auto passed = std::count_if(schedule.milestones.begin(), schedule.milestones.end(),
                                    [&](double milestone) { return epoch >= milestone; });
  return std::pow(schedule.gamma, static_cast<double>(passed));
}

// From the end of the warm-up on.
double cosine(const ScheduleOptions& schedule, double epoch, double warmup, double epochs) {
  const double length = std::max(epochs - warmup, 1e-9);
  const double part = std::clamp((epoch - warmup) / length, 0.0, 1.0);
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

}  // namespace

double schedule_factor(const ScheduleOptions& schedule, std::int64_t now, std::int64_t per_epoch, int epochs) {
  const auto steps = static_cast<double>(std::max<std::int64_t>(per_epoch, 1));
  const double epoch = static_cast<double>(now) / steps;
  const bool by_step = schedule.warmup_steps > 0;
  const double warmup = by_step ? static_cast<double>(schedule.warmup_steps) / steps : schedule.warmup_epochs;
  const double shape = shape_of(schedule.name)(schedule, epoch, warmup, epochs);
  if (epoch >= warmup) return shape;
  const double part = (epoch + 1.0 / steps) / warmup;  // the first step already moves
  return shape * (schedule.warmup_start + (1 - schedule.warmup_start) * std::min(part, 1.0));
}

void check_schedule_name(const std::string& name) { shape_of(name); }

void check_schedule(const ScheduleOptions& schedule, int epochs) {
  check_schedule_name(schedule.name);
  QUENCH_CHECK(schedule.warmup_epochs >= 0 && schedule.warmup_epochs <= epochs, "the warm-up takes ",
               schedule.warmup_epochs, " epochs; it must lie between 0 and all ", epochs, " of them");
  QUENCH_CHECK(schedule.warmup_steps >= 0, "warmup_steps is ", schedule.warmup_steps, "; it must be at least 0");
  QUENCH_CHECK(schedule.warmup_steps == 0 || schedule.warmup_epochs == 0,
               "the warm-up is given twice: by warmup_epochs and by warmup_steps; give one of them");
  QUENCH_CHECK(schedule.step_epochs > 0, "step_epochs is ", schedule.step_epochs, "; it must be above 0");
  for (const auto& [name, share] : {std::pair("schedule.end", schedule.end), {"warmup_start", schedule.warmup_start}})
    QUENCH_CHECK(share >= 0 && share <= 1, name, " is ", share, "; it is a share of the rate, from 0 to 1");
  QUENCH_CHECK(schedule.gamma > 0, "gamma is ", schedule.gamma, "; it must be above 0");
}

std::int64_t steps_per_epoch(const Graph& graph, const Dataset& data, const TrainOptions& options) {
  return std::max<std::int64_t>(data.size() / choose_batch(graph, &data, 0, options.batch), 1);
}

}  // namespace quench
