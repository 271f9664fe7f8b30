// The options of training as one list, for whoever reads, writes or hashes them: visitor(key, field) for each;
// visitor.enter(key) and leave() around a group. What a caller alone decides (folders, callbacks, the device) is not in
// it.
#pragma once

#include "quench/train.h"

namespace quench {

template <typename Options, typename Visitor>
void visit_optimizer(Options& optimizer, Visitor& visit) {
  visit("name", optimizer.name);
  visit("lr", optimizer.lr);
  visit("scale_lr", optimizer.scale_lr);
  visit("momentum", optimizer.momentum);
  visit("nesterov", optimizer.nesterov);
  visit("weight_decay", optimizer.weight_decay);
  visit("beta1", optimizer.beta1);
  visit("beta2", optimizer.beta2);
  visit("epsilon", optimizer.epsilon);
}

template <typename Options, typename Visitor>
void visit_schedule(Options& schedule, Visitor& visit) {
  visit("name", schedule.name);
  visit("warmup_epochs", schedule.warmup_epochs);
  visit("warmup_steps", schedule.warmup_steps);
  visit("warmup_start", schedule.warmup_start);
  visit("step_epochs", schedule.step_epochs);
  visit("milestones", schedule.milestones);
  visit("gamma", schedule.gamma);
  visit("end", schedule.end);
}

// What happens at which epoch.
template <typename Options, typename Visitor>
void visit_epochs(Options& options, Visitor& visit) {
  visit("epochs", options.epochs);
  visit("max_steps", options.max_steps);
  visit("freeze_bn_begin", options.freeze_bn_begin);
  visit("freeze_bn_step", options.freeze_bn_step);
  visit("disable_observer_begin", options.disable_observer_begin);
  visit("val_begin", options.val_begin);
  visit("val_interval", options.val_interval);
  visit("dynamic_intervals", options.dynamic_intervals);
}

template <typename Options, typename Visitor>
void visit_train_options(Options& options, Visitor& visit) {
  visit("loop", options.loop);
  visit("loop_options", options.loop_options);
  visit_epochs(options, visit);
  visit("batch", options.batch);
  visit("bf16", options.bf16);
  visit("sync_bn", options.sync_bn);
  visit("label_smoothing", options.label_smoothing);
  visit("clip_norm", options.clip_norm);
  visit("ema", options.ema);
  visit("metric", options.metric);
  visit("keep_best", options.keep_best);
  visit("val_float", options.val_float);
  visit("checkpoint_every", options.checkpoint_every);
  visit("log_every", options.log_every);
  visit.enter("optimizer");
  visit_optimizer(options.optimizer, visit);
  visit.leave();
  visit.enter("schedule");
  visit_schedule(options.schedule, visit);
  visit.leave();
  visit.enter("augment");
  visit("flip", options.augment.flip);
  visit("crop", options.augment.crop);
  visit.leave();
  visit.enter("distill");
  visit("weight", options.distill.weight);
  visit("temperature", options.distill.temperature);
  visit.leave();
}

}  // namespace quench
