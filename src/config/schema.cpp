#include "config/schema.h"

#include "qat/train_fields.h"
#include "quench/ptq_method.h"

namespace quench {
namespace {

using Keys = std::map<std::string, std::string>;

const Keys& job_keys() {
  static const Keys keys = {
      {"version", "1; the version of the schema"},
      {"model", "file; the model to quantize"},
      {"input_shape",
       "1,3,224,224, or 1,128:int64, or a list of those, one per input; where the file does not say "
       "(TorchScript)"},
      {"output", "folder for the results"},
      {"seed", "number; seed of all random numbers (default: 0)"},
      {"device", "cpu or cuda (default: cpu)"},
      {"platform", "name or alias, in any case; the target (`quench list platforms`)"},
      {"plugins",
       "file or list of files; shared libraries to load first (their code runs), relative to the config that names "
       "them; in every layout"},
      {"_base_", "file or list of files; the jobs that this one inherits from"},
      {"platform_options", "map; options that the platform declares"},
      {"parity", "true or false; do as the reference implementation does, mistakes included (default: false)"},
      {"float_fallback",
       "true or false; what the target cannot run stays float instead of being an error (default: false)"},
      {"data", "map; the data sets; each is a spec (docs/data.md), or a map with kind and path"},
      {"data.calib", "spec; to calibrate on"},
      {"data.eval", "spec; to measure accuracy on"},
      {"data.train", "spec; to train on"},
      {"data.val", "spec; to evaluate after each epoch; the best epoch is kept"},
      {"metrics",
       "list of specs (mse:output=logits) or maps ({name: mse, output: logits}); what is measured on data.eval "
       "(docs/metrics.md); the first one validates, unless train.metric names another"},
      {"defaults", "map; settings instead of the platform's"},
      {"defaults.weight", "settings of weights"},
      {"defaults.activation", "settings of activations"},
      {"defaults.bias", "settings of biases"},
      {"layers", "list of rules; later ones win; a rule that matches nothing is an error"},
      {"layers[].match",
       "name of a node, module or output, with * and ? as wildcards; a module stands for everything inside it; =name "
       "is that node alone"},
      {"layers[].op", "operator, or several: Gemm|MatMul; with match both must hold"},
      {"layers[].float", "true or false; leave it float"},
      {"layers[].weight", "settings of its weight"},
      {"layers[].activation", "settings of what it reads"},
      {"layers[].output", "settings of what it writes"},
      {"additional_ops", "list of operators; their inputs are quantized too, beyond the platform's list"},
      {"additional_nodes", "list of names; the same for nodes, which exclusions do not undo"},
      {"excluded_ops", "list of operators; left float"},
      {"excluded_nodes", "list of names; left float; a module stands for everything inside it"},
      {"fuse", "list of lists of names; chains that count as one layer"},
      {"fuse_patterns", "list of lists of operators; chains that count as one layer"},
  };
  return keys;
}

// What is done with the data, and with the result.
const Keys& stage_keys() {
  static const Keys keys = {
      {"calibration", "map; how the data is run"},
      {"calibration.batch", "number; items at a time (by memory if absent)"},
      {"calibration.batches", "number; at most this many batches"},
      {"calibration.samples", "number; at most this many items"},
      {"calibration.workers", "number; decoding threads"},
      {"calibration.on_quantized", "true or false; observe behind quantizers that are switched on (default: false)"},
      {"calibration.skip_broken", "true or false; items that cannot be read are skipped and named (default: false)"},
      {"calibration.statistics", "folder; keeps what the observers saw, for later runs"},
      {"equalize", "true or false; balance the channels of neighbouring layers (if absent: the platform's default)"},
      {"smooth",
       "true or false; SmoothQuant in front of linear layers, docs/numerics.md 10.4 (if absent: the platform's "
       "default)"},
      {"bias_correction", "none, fast or sequential (if absent: the platform's default)"},
      {"method", "map; learned rounding"},
      {"method.name", "name; the method (`quench list methods`)"},
      {"train", "map; quantization-aware training, for `quench train`"},
      {"deploy", "map; the target's files"},
      {"deploy.folder", "folder; deploy in the output folder if absent"},
      {"deploy.name", "base name of the files; the model file's if absent"},
      {"deploy.opset", "number; of the models (the lowest that works if absent)"},
      {"deploy.options", "map; options of the exporter (`quench list options`)"},
      {"layout", "quench, mqbench or mmrazor; of the file that a recorded job came from"},
      {"preserve", "list of names; texts of the model's metadata that every file made must carry"},
      {"metadata", "map; texts that go with the model, those that preserve names into the deployed files too"},
      {"kept", "list; of a recorded job: keys without effect"},
      {"notes", "list; of a recorded job: what was not taken literally"}};
  return keys;
}

// Of defaults.weight and its like, and of the parts of a rule.
const Keys& setting_keys() {
  static const Keys keys = {{"bits", "1 to 16"},
                            {"signed", "true or false"},
                            {"symmetric", "true or false; the zero point is 0"},
                            {"granularity", "tensor, channel or group; what shares a scale"},
                            {"axis", "number; axis of the channels (the operator's own if absent)"},
                            {"group", "number; elements that share a scale"},
                            {"narrow", "true or false; without the lowest code: -127..127"},
                            {"pot", "true or false; scales are powers of two"},
                            {"format", "int, e4m3fn, e5m2 or log"},
                            {"scheme",
                             "all of these as one text: int8 symmetric channel:0 narrow; channel without a number is "
                             "the operator's own axis"},
                            {"observer", "name; the observer, which chooses the scale"},
                            {"observer_options", "map; options of the observer named beside them"},
                            {"fake_quant", "name; the fake quantizer"},
                            {"fake_quant_options", "map; options of the fake quantizer named beside them"}};
  return keys;
}

const Keys& train_meanings() {
  static const Keys keys = {
      {"loop", "name; what is switched on before each epoch, and how it runs (`quench list loops`)"},
      {"loop_options", "map; options that the loop declares"},
      {"epochs", "passes over data.train"},
      {"max_steps", "at most this many steps; 0: no limit"},
      {"batch", "items per step, over all processes"},
      {"bf16", "convolutions and products in bfloat16"},
      {"sync_bn", "several processes: batch norm by the statistics of the whole batch, else of each process's share"},
      {"label_smoothing", "share of the label that goes to all classes"},
      {"clip_norm", "largest norm of the network's gradient; 0: no limit"},
      {"ema", "decay of a moving average of the weights, which is what is kept; 0: none"},
      {"metric", "what is measured on data.val: docs/metrics.md (default: top1 or perplexity)"},
      {"keep_best", "keep what was best on data.val: an epoch, or the model that training started from"},
      {"val_float", "validate the float network, too"},
      {"val_begin", "first epoch after which data.val is evaluated"},
      {"val_interval", "epochs between evaluations"},
      {"dynamic_intervals", "[[epoch, interval], ...]: another interval from that epoch on"},
      {"freeze_bn_begin", "batch norm keeps its statistics from this epoch on; 0: never"},
      {"freeze_bn_step", "batch norm keeps its statistics from this step on, counted from 1 over all epochs; 0: never"},
      {"disable_observer_begin", "observers stop at this epoch; 0: never"},
      {"checkpoint_every", "steps between checkpoints; 0: after each epoch"},
      {"log_every", "steps between lines of the log"},
      {"optimizer.name", "sgd, adam or adamw"},
      {"optimizer.lr", "highest learning rate"},
      {"optimizer.scale_lr", "highest learning rate of what quantizers learn (a tenth of lr if absent)"},
      {"optimizer.momentum", "of sgd"},
      {"optimizer.nesterov", "of sgd"},
      {"optimizer.weight_decay", "of weights only"},
      {"optimizer.beta1", "of adam and adamw"},
      {"optimizer.beta2", "of adam and adamw"},
      {"optimizer.epsilon", "of adam and adamw"},
      {"schedule.name", "constant, step, multi_step or cosine"},
      {"schedule.warmup_epochs", "epochs in which the rate rises linearly"},
      {"schedule.warmup_steps", "steps in which the rate rises linearly, instead of warmup_epochs"},
      {"schedule.warmup_start", "the share of the rate that the warm-up begins with"},
      {"schedule.step_epochs", "step: epochs after which the rate is multiplied by gamma, again and again"},
      {"schedule.milestones", "multi_step: epochs at which the rate is multiplied by gamma"},
      {"schedule.gamma", "step and multi_step: the factor"},
      {"schedule.end", "cosine: the share of the rate that is left at the end"},
      {"augment.flip", "mirror half of the images"},
      {"augment.crop", "random crop after padding by this many pixels; 0: none"},
      {"distill.weight", "share of the loss that comes from the float model's logits"},
      {"distill.temperature", "temperature of both softmaxes"}};
  return keys;
}

std::string default_text(const std::string& fallback) {
  return fallback.empty() ? "" : concat(" (default: ", fallback, ")");
}

// Walks the options of training for their keys and defaults.
class TrainKeys {
 public:
  explicit TrainKeys(Keys& keys) : keys_(keys) {}
  void operator()(const char* key, const std::string& field) { add(key, field); }
  void operator()(const char* key, bool field) { add(key, field ? "true" : "false"); }
  void operator()(const char* key, int field) { add(key, std::to_string(field)); }
  void operator()(const char* key, std::int64_t field) { add(key, std::to_string(field)); }
  void operator()(const char* key, double field) { add(key, concat(field)); }
  template <typename T>
  void operator()(const char* key, const T&) {  // absent or empty unless given
    add(key, "");
  }
  void enter(const char* key) {
    keys_[concat("train.", key)] = "map";
    group_ = concat(key, ".");
  }
  void leave() { group_.clear(); }

 private:
  void add(const char* key, const std::string& fallback) {
    const std::string name = group_ + key;
    const auto meaning = train_meanings().find(name);
    const std::string line = meaning == train_meanings().end() ? "" : meaning->second;  // a test finds such keys
    keys_["train." + name] = line + default_text(fallback);
  }
  Keys& keys_;
  std::string group_;
};

void add_method_keys(Keys& keys) {
  std::map<std::string, std::string> defaults;  // of the first method that has the option, then of those that differ
  for (const auto& [method, entry] : PtqMethodRegistry::instance().entries())
    for (const OptionInfo& option : options_of(entry.item)) {
      const std::string fallback = std::visit([](const auto& value) { return concat(value); }, option.fallback);
      const auto [at, is_new] = defaults.try_emplace(option.name, fallback);
      if (!is_new && at->second.substr(0, at->second.find(';')) != fallback)
        at->second += concat("; ", method, ": ", fallback);
      keys["method." + option.name] = option.summary + default_text(at->second);
    }
}

}  // namespace

Keys config_keys() {
  Keys keys = job_keys();
  keys.insert(stage_keys().begin(), stage_keys().end());
  for (const auto& [key, line] : setting_keys()) keys["settings." + key] = line;
  const TrainOptions defaults;
  TrainKeys train(keys);
  visit_train_options(defaults, train);
  add_method_keys(keys);
  return keys;
}

}  // namespace quench
