#include "config/schema.h"

#include "qat/train_fields.h"
#include "quench/ptq_method.h"

namespace quench {
namespace {

using Keys = std::map<std::string, std::string>;

const Keys& job_keys() {
  static const Keys keys = {
      {"version", "1; of the schema"},
      {"model", "file; what is quantized"},
      {"input_shape", "1,3,224,224, or 1,128:int64, or a list of those; where the file does not say (TorchScript)"},
      {"output", "folder"},
      {"seed", "number; of everything that is drawn at random (default: 0)"},
      {"device", "cpu or cuda (default: cpu)"},
      {"platform", "name; the target"},
      {"plugins",
       "file or list of files; shared libraries that are loaded first, relative to the config that names them"},
      {"_base_", "file or list of files; jobs that this one is laid over"},
      {"platform_options", "map; options that the platform declares"},
      {"parity", "true or false; do it as the reference implementation does, its mistakes included (default: false)"},
      {"float_fallback",
       "true or false; what the target cannot run stays float instead of being an error (default: false)"},
      {"data", "map; the data sets"},
      {"data.calib", "spec; to calibrate on"},
      {"data.eval", "spec; to measure accuracy on"},
      {"data.train", "spec; to train on"},
      {"data.val", "spec; evaluated after each epoch, chooses the best"},
      {"metrics", "list; what is measured on data.eval, such as top5 or mse:output=logits (docs/metrics.md)"},
      {"defaults", "map; settings instead of the platform's"},
      {"defaults.weight", "settings of weights"},
      {"defaults.activation", "settings of activations"},
      {"defaults.bias", "settings of biases"},
      {"layers", "list of rules; later ones win, and one that matches nothing is an error"},
      {"layers[].match", "names of nodes, modules and outputs; * and ? are wildcards, =name is that node alone"},
      {"layers[].op", "operator, or several: Gemm|MatMul; with match both must hold"},
      {"layers[].float", "true or false; leave it float"},
      {"layers[].weight", "settings of its weight"},
      {"layers[].activation", "settings of what it reads"},
      {"layers[].output", "settings of what it writes"},
      {"additional_ops", "list of operators; whose inputs are quantized beyond the platform's list"},
      {"additional_nodes", "list of names; the same for nodes, against exclusions too"},
      {"excluded_ops", "list of operators; left float"},
      {"excluded_nodes", "list of names; left float, with everything inside a module"},
      {"fuse", "list of lists of names; chains that count as one layer"},
      {"fuse_patterns", "list of lists of operators; the same"},
  };
  return keys;
}

// What is done with the data, and with the result.
const Keys& stage_keys() {
  static const Keys keys = {
      {"calibration", "map; how the data is run"},
      {"calibration.batch", "number; items at a time (by memory if absent)"},
      {"calibration.batches", "number; so many batches at most"},
      {"calibration.samples", "number; so many items at most"},
      {"calibration.workers", "number; decoding threads"},
      {"calibration.on_quantized",
       "true or false; later layers see what earlier ones make of it quantized (default: false)"},
      {"calibration.skip_broken", "true or false; items that cannot be read are skipped and named (default: false)"},
      {"calibration.statistics", "folder; keeps what the observers saw, for later runs"},
      {"equalize", "true or false; balance channels of neighbouring layers (if absent: as the platform wants it)"},
      {"smooth", "true or false; smooth what linear layers read (if absent: as the platform wants it)"},
      {"bias_correction", "none, fast or sequential (if absent: as the platform wants it)"},
      {"method", "map; learned rounding"},
      {"method.name", "name; the method"},
      {"train", "map; quantization-aware training, for `quench train`"},
      {"deploy", "map; the target's files"},
      {"deploy.folder", "folder; deploy in the output folder if absent"},
      {"deploy.name", "base name of the files; the model file's if absent"},
      {"deploy.opset", "number; of the models (the lowest that works if absent)"},
      {"deploy.options", "map; options of the exporter"},
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
                            {"axis", "number; of the channels (the operator's own if absent)"},
                            {"group", "number; elements that share a scale"},
                            {"narrow", "true or false; without the least code: -127..127"},
                            {"pot", "true or false; scales are powers of two"},
                            {"format", "int, e4m3fn, e5m2 or log"},
                            {"scheme", "all of these in one text: int8 symmetric channel:0 narrow"},
                            {"observer", "name; who decides the scale"},
                            {"observer_options", "map"},
                            {"fake_quant", "name; who quantizes"},
                            {"fake_quant_options", "map"}};
  return keys;
}

const Keys& train_meanings() {
  static const Keys keys = {{"loop", "what is switched on before an epoch, how it runs"},
                            {"epochs", "passes over data.train"},
                            {"max_steps", "at most so many steps; 0: all"},
                            {"batch", "items of a step, of all processes together"},
                            {"bf16", "convolutions and products in bfloat16"},
                            {"label_smoothing", "share of the label that goes to all classes"},
                            {"clip_norm", "largest norm of the network's gradient; 0: any"},
                            {"ema", "decay of an average of the weights, which is what is kept; 0: none"},
                            {"metric", "what is measured on data.val: docs/metrics.md (default: top1 or perplexity)"},
                            {"keep_best", "ends with the best on data.val: an epoch, or what training started from"},
                            {"val_float", "validates the float network, too"},
                            {"val_begin", "first epoch after which data.val is evaluated"},
                            {"val_interval", "epochs between evaluations"},
                            {"dynamic_intervals", "[[epoch, interval], ...]: another interval from that epoch on"},
                            {"freeze_bn_begin", "batch norm keeps its statistics from this epoch on; 0: never"},
                            {"disable_observer_begin", "observers stop at this epoch; 0: never"},
                            {"checkpoint_every", "steps between checkpoints; 0: after each epoch"},
                            {"log_every", "steps between lines of the log"},
                            {"optimizer.name", "sgd, adam or adamw"},
                            {"optimizer.lr", "learning rate at its highest"},
                            {"optimizer.scale_lr", "that of what quantizers learn (lr if absent)"},
                            {"optimizer.momentum", "of sgd"},
                            {"optimizer.nesterov", "of sgd"},
                            {"optimizer.weight_decay", "of weights alone"},
                            {"optimizer.beta1", "of adam and adamw"},
                            {"optimizer.beta2", "of adam and adamw"},
                            {"optimizer.epsilon", "of adam and adamw"},
                            {"schedule.name", "constant, step, multi_step or cosine"},
                            {"schedule.warmup_epochs", "the rate rises linearly for so long"},
                            {"schedule.warmup_start", "from this share of it"},
                            {"schedule.step_epochs", "step: times gamma every so many epochs"},
                            {"schedule.milestones", "multi_step: times gamma at these epochs"},
                            {"schedule.gamma", "step and multi_step: the factor"},
                            {"schedule.end", "cosine: the share of the rate that is left at the end"},
                            {"augment.flip", "mirrors half of the images"},
                            {"augment.crop", "a window after padding with so many pixels; 0: none"},
                            {"distill.weight", "share of the loss that comes from the float model's logits"},
                            {"distill.temperature", "of both softmaxes"}};
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
