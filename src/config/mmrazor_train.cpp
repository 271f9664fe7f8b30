// mmrazor's training: train_cfg, val_cfg, optim_wrapper and param_scheduler (docs/config.md 4).
#include <algorithm>

#include "config/aliases.h"
#include "config/mmrazor.h"
#include "quench/train_loop.h"

namespace quench {
namespace {

template <typename T, typename U>
void set(T& field, const std::optional<U>& given) {
  if (given) field = static_cast<T>(*given);
}

// mmrazor says -1 for never.
int begin_of(MapReader& map, const char* key) {
  return static_cast<int>(std::max<std::int64_t>(map.integer(key, -1).value_or(-1), 0));
}

void read_intervals(MapReader& map, TrainOptions& options) {
  const Tree* list = map.find("dynamic_intervals");
  if (!list) return;
  if (!list->is_list()) fail_at(*list, "'train_cfg.dynamic_intervals' must be a list of [epoch, interval]");
  for (const Tree& pair : list->items) {
    if (!pair.is_list() || pair.items.size() != 2)
      fail_at(pair, "'train_cfg.dynamic_intervals' must be a list of [epoch, interval]");
    options.dynamic_intervals.emplace_back(integer_of(pair.items[0], "dynamic_intervals", 0),
                                           integer_of(pair.items[1], "dynamic_intervals", 1));
  }
}

// What the loop itself declares.
Options own_options(MapReader& map, const std::string& loop) {
  Options given;
  for (const OptionInfo& option : TrainLoopRegistry::instance().get(loop).options)
    if (const Tree* value = map.find(option.name)) given.set(option.name, option_of(*value, map.path_of(option.name)));
  return given;
}

void read_loop(MapReader map, TrainOptions& options, JobConfig& job) {
  const std::string loop = train_loop_name(*map.text("type"));
  set_train_loop(options, map.tree(), loop, own_options(map, loop));
  set(options.max_steps, map.integer("max_iters", 1));
  if (const auto epochs = map.integer("max_epochs", 1))
    options.epochs = static_cast<int>(*epochs);
  else if (options.max_steps > 0)
    fail_at(map.tree(), "'train_cfg.max_iters' without 'max_epochs': ", *map.text("type"),
            " counts in epochs; give 'max_epochs', which max_iters may cut short");
  else
    note(job, concat("'train_cfg.max_epochs' is missing: ", options.epochs, " epochs"));
  set(options.val_begin, map.integer("val_begin", 0));
  set(options.val_interval, map.integer("val_interval", 1));
  options.freeze_bn_begin = begin_of(map, "freeze_bn_begin");
  options.disable_observer_begin = begin_of(map, "disable_observer_begin");
  read_intervals(map, options);
  skip(job, map, {"dataloader"}, "name the data under 'quench.data'");
  map.find("by_epoch");
  map.finish();
}

void read_optimizer(MapReader map, OptimizerOptions& options) {
  const std::string type = map.text("type").value_or("SGD");
  if (type != "SGD" && type != "Adam" && type != "AdamW")
    fail_at(*map.find("type"), "unknown optimizer '", type, "'; known: SGD, Adam, AdamW");
  options.name = type == "SGD" ? "sgd" : type == "Adam" ? "adam" : "adamw";
  options.momentum = map.number("momentum").value_or(0.0);  // torch's defaults, not ours
  options.nesterov = map.flag("nesterov").value_or(false);
  options.weight_decay = map.number("weight_decay").value_or(type == "AdamW" ? 0.01 : 0.0);
  options.lr = map.number("lr").value_or(0.001);
  set(options.epsilon, map.number("eps"));
  if (const Tree* betas = map.find("betas")) {
    if (!betas->is_list() || betas->items.size() != 2) fail_at(*betas, "'betas' must be a list of two numbers");
    options.beta1 = number_of(betas->items[0], map.path_of("betas"));
    options.beta2 = number_of(betas->items[1], map.path_of("betas"));
  }
  map.finish();
}

void read_clipping(MapReader& map, TrainOptions& options) {
  const std::string by = map.text("type").value_or("norm");
  if (by != "norm" || map.number("norm_type").value_or(2) != 2)
    fail_at(map.tree(), "'optim_wrapper.clip_grad': gradients are clipped by their L2 norm (max_norm) only");
  const auto most = map.number("max_norm");
  if (!most) fail_at(map.tree(), "'optim_wrapper.clip_grad' needs 'max_norm'");
  options.clip_norm = *most;
  map.find("error_if_nonfinite");  // a loss that is not finite is an error anyway
  map.finish();
}

void read_wrapper(MapReader map, TrainOptions& options, JobConfig& job) {
  const std::string type = without_scope(map.text("type").value_or("OptimWrapper"));
  if (type == "AmpOptimWrapper") {
    options.bf16 = true;
    note(job, "'optim_wrapper.type': AmpOptimWrapper is bfloat16 here, which needs no scaling of the loss");
    skip(job, map, {"loss_scale", "dtype"}, "bfloat16 needs none");
  }
  if (auto optimizer = map.map("optimizer")) read_optimizer(*optimizer, options.optimizer);
  if (auto clip = map.map("clip_grad")) {
    read_clipping(*clip, options);
  }
  skip(job, map, {"paramwise_cfg"},
       "weights alone decay, and quantizers have a rate of their own (quench.train.optimizer)");
  keep(job, JobStage::kTrain, map, {"accumulative_counts"});
  map.finish();
}

// param_scheduler. mmengine multiplies what its entries say; here they are one warm-up and one shape after it.
class SchedulerReader {
 public:
  SchedulerReader(TrainOptions& options, JobConfig& job) : options_(options), schedule_(options.schedule), job_(job) {
    schedule_.name = "constant";  // mmengine's rate stays if nobody changes it
  }

  void read(MapReader map) {
    const std::string type = without_scope(map.text("type").value_or(""));
    const double begin = map.number("begin").value_or(0);
    for (const char* key : {"convert_to_iter_based", "verbose"}) map.find(key);
    const bool by_epoch = map.flag("by_epoch").value_or(true);
    if (!by_epoch && type != "ConstantLR" && type != "LinearLR")
      fail_at(map.tree(), "'by_epoch: false' is for LinearLR: give begin, end and milestones of ", type, " in epochs");
    if (type == "LinearLR")
      read_warmup(map, by_epoch, begin);
    else if (type == "ConstantLR")
      read_constant(map);
    else
      read_shape(map, type, begin);
    map.finish();
  }

  // Cosine falls from the end of the warm-up, which may stand behind it in the list.
  void finish() {
    if (!cosine_) return;
    const bool by_step = schedule_.warmup_steps > 0;
    if (!by_step && cosine_begin_ > schedule_.warmup_epochs)
      fail_at(*cosine_, "CosineAnnealingLR begins at epoch ", cosine_begin_, ", where no warm-up ends: begin it at ",
              schedule_.warmup_epochs);
    if (by_step || cosine_begin_ < schedule_.warmup_epochs)
      note(job_, concat("CosineAnnealingLR: falls from the end of the warm-up on, not from epoch ", cosine_begin_));
  }

 private:
  // LinearLR, in epochs or in steps.
  void read_warmup(MapReader& map, bool by_epoch, double begin) {
    if (begin != 0 || map.number("end_factor").value_or(1.0) != 1.0)
      fail_at(map.tree(), "LinearLR is read as a warm-up: from the start to a factor of 1");
    if (warms_up_) fail_at(map.tree(), "a second LinearLR: only one, the warm-up, is supported");
    warms_up_ = true;
    schedule_.warmup_start = map.number("start_factor").value_or(1.0 / 3);
    if (by_epoch) {
      schedule_.warmup_epochs = map.number("end").value_or(options_.epochs);
      return;
    }
    const auto end = map.integer("end", 0);
    if (!end) fail_at(map.tree(), "LinearLR with 'by_epoch: false' needs 'end', in steps");
    schedule_.warmup_steps = *end;
  }

  static void read_constant(MapReader& map) {
    map.find("end");
    if (map.number("factor").value_or(1.0 / 3) != 1.0)
      fail_at(map.tree(), "ConstantLR with a factor other than 1 is not supported: set the optimizer's lr instead");
  }

  void read_shape(MapReader& map, const std::string& type, double begin) {
    if (!shape_.empty()) fail_at(map.tree(), "a second schedule, ", type, " beside ", shape_, ": there is one");
    shape_ = type;
    const auto end = map.number("end");
    if (end && *end < options_.epochs)
      fail_at(map.tree(), type, " ends at epoch ", *end, " of ", options_.epochs,
              ": a schedule lasts until the last epoch");
    if (type == "CosineAnnealingLR")
      read_cosine(map, begin);
    else if (type == "MultiStepLR")
      read_milestones(map, begin);
    else if (type == "StepLR")
      read_steps(map, begin);
    else
      fail_at(map.tree(), "unknown schedule '", type,
              "'; known: ConstantLR, StepLR, MultiStepLR, CosineAnnealingLR, LinearLR (as a warm-up)");
  }

  void read_cosine(MapReader& map, double begin) {
    schedule_.name = "cosine";
    cosine_ = &map.tree();
    cosine_begin_ = begin;
    if (const auto length = map.number("T_max"); length && *length != options_.epochs - begin)
      note(job_, concat("CosineAnnealingLR: falls step by step until the last epoch; its T_max of ", *length,
                        " is not used"));
    schedule_.end = map.number("eta_min").value_or(0.0) / options_.optimizer.lr;
  }

  // mmengine counts them from `begin` on.
  void read_milestones(MapReader& map, double begin) {
    schedule_.name = "multi_step";
    const Tree* milestones = map.find("milestones");
    if (!milestones || !milestones->is_list()) fail_at(map.tree(), "MultiStepLR needs a list of milestones");
    for (const Tree& one : milestones->items) schedule_.milestones.push_back(begin + number_of(one, "milestones"));
    schedule_.gamma = map.number("gamma").value_or(0.1);
  }

  void read_steps(MapReader& map, double begin) {
    if (begin != 0)
      fail_at(map.tree(), "StepLR begins at epoch ", begin, "; here its steps count from epoch 0: use MultiStepLR");
    schedule_.name = "step";
    set(schedule_.step_epochs, map.number("step_size"));
    schedule_.gamma = map.number("gamma").value_or(0.1);
  }

  TrainOptions& options_;
  ScheduleOptions& schedule_;
  JobConfig& job_;
  bool warms_up_ = false;
  std::string shape_;
  const Tree* cosine_ = nullptr;
  double cosine_begin_ = 0;
};

void read_schedulers(MapReader& top, TrainOptions& options, JobConfig& job) {
  SchedulerReader reader(options, job);
  const Tree* given = top.find("param_scheduler");
  if (!given) return;
  if (given->is_map() && given->entries.empty()) return;
  if (!given->is_list()) reader.read({*given, "param_scheduler"});
  for (std::size_t i = 0; i < given->items.size(); ++i) reader.read({given->items[i], concat("param_scheduler.", i)});
  reader.finish();
}

void keep_float_training(MapReader& top, JobConfig& job) {
  if (auto train = top.map("train_cfg")) keep(job, JobStage::kTrain, *train, train->rest());
  if (auto val = top.map("val_cfg")) keep(job, JobStage::kTrain, *val, val->rest());
  keep(job, JobStage::kTrain, top,
       {"optim_wrapper", "param_scheduler", "model_wrapper_cfg", "default_hooks", "custom_hooks", "auto_scale_lr"});
}

// mmengine's own loops train without quantizers.
bool trains_with_quantizers(MapReader& top) {
  auto train = top.map("train_cfg");
  return train && is_train_loop(train->text("type").value_or(""));
}

}  // namespace

void note_optimizer(const Tree& tree, JobConfig& job) {
  const auto names_one = [](const Tree* place) {
    const Tree* found = place ? place->find("optimizer") : nullptr;
    return found && !found->is_null();
  };
  const Tree* own = tree.find("quench");
  if (!job.train || names_one(tree.find("optim_wrapper")) || names_one(own ? own->find("train") : nullptr)) return;
  const OptimizerOptions usual;
  note(job, concat("'optim_wrapper' names no optimizer: quench's own is used where nothing else is said, SGD with lr ",
                   usual.lr, ", Nesterov momentum ", usual.momentum, " and weight decay ", usual.weight_decay,
                   " (quench.train.optimizer)"));
}

void read_training(MapReader& top, JobConfig& job) {
  if (!trains_with_quantizers(top)) return keep_float_training(top, job);
  TrainOptions options;
  options.keep_best = false;  // the last epoch is the result
  read_loop(*top.map("train_cfg"), options, job);
  if (auto val = top.map("val_cfg")) {
    options.val_float = without_scope(val->text("type").value_or("")) == "QATValLoop";
    note_half(*val, job);
    skip(job, *val, {"dataloader", "evaluator"}, "name the data under 'quench.data'");
    val->finish();
  }
  if (auto wrapper = top.map("optim_wrapper")) read_wrapper(*wrapper, options, job);
  read_schedulers(top, options, job);
  if (auto loader = top.map("train_dataloader")) set(options.batch, loader->integer("batch_size", 1));
  skip(job, top, {"model_wrapper_cfg", "default_hooks", "custom_hooks", "auto_scale_lr"},
       "quench has its own checkpoints, logs and processes");
  job.train = options;
}

}  // namespace quench
