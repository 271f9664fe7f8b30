// mmrazor's layout, docs/config.md 4: an mmengine config whose model is an MMArchitectureQuant. `_base_` and `_delete_`
// have been handled by then.
#include <charconv>
#include <filesystem>

#include "config/aliases.h"
#include "config/layouts.h"
#include "config/mmrazor.h"
#include "core/joined.h"

namespace quench {
namespace {

// mmengine looks a class up by it; names are the same here whatever the registry.
Tree without_scopes(Tree tree) {
  tree.erase("_scope_");
  for (auto& [key, value] : tree.entries) value = without_scopes(std::move(value));
  for (Tree& item : tree.items) item = without_scopes(std::move(item));
  return tree;
}

// "123.675" of 255 -> "0.485"
std::string of_255(const Tree& number, const std::string& path) {
  char text[32];
  const double share = number_of(number, path) / 255.0;
  return {text, std::to_chars(text, text + sizeof text, share, std::chars_format::general, 9).ptr};
}

struct Normalization {
  std::string mean, std;  // "0.485,0.456,0.406"; "" if the config does not say
};

std::string read_channels(MapReader& map, const std::string& key) {
  const Tree* numbers = map.find(key);
  if (!numbers) return "";
  if (!numbers->is_list()) return of_255(*numbers, map.path_of(key));
  std::vector<std::string> shares;
  for (const Tree& number : numbers->items) shares.push_back(of_255(number, map.path_of(key)));
  return joined(shares, ",");
}

Normalization read_preprocessor(MapReader map, JobConfig& job) {
  Normalization norm{read_channels(map, "mean"), read_channels(map, "std")};
  for (const char* key : {"type", "num_classes"}) map.find(key);
  if (!map.flag("to_rgb").value_or(true)) keep(job, JobStage::kQuantize, map, {"to_rgb"});
  skip(job, map, {"to_onehot", "batch_augments", "pad_size_divisor", "pad_mask", "bgr_to_rgb", "rgb_to_bgr"},
       "means nothing here");
  map.finish();
  return norm;
}

// All of them are heads on one graph with one set of quantizers (quench/heads.h): none has to be asked for.
void check_modes(MapReader& map) {
  for (const std::string& mode : map.texts("forward_modes"))
    if (mode != "tensor" && mode != "predict" && mode != "loss")
      fail_at(*map.find("forward_modes"), "'", map.path_of("forward_modes"), "' names '", mode,
              "'; the modes are tensor, predict and loss");
}

void read_model(MapReader map, Normalization& norm, JobConfig& job) {
  if (const auto type = map.text("type"); type && without_scope(*type) != "MMArchitectureQuant")
    fail_at(*map.find("type"), "'model.type' must be mmrazor.MMArchitectureQuant, not '", *type, "'");
  if (auto preprocessor = map.map("data_preprocessor")) norm = read_preprocessor(*preprocessor, job);
  if (auto quantizer = map.map("quantizer")) read_quantizer(*quantizer, job);
  if (auto deploy = map.map("deploy_cfg")) read_deploy_config(*deploy, job);
  check_modes(map);
  keep(job, JobStage::kTrace, map, {"architecture", "input_shapes", "forward_modes", "init_cfg"});
  if (const auto checkpoint = map.text("float_checkpoint")) job.metadata["float_checkpoint"] = *checkpoint;
  map.finish();
}

// mmrazor's files say it at the top, for the quantizer to refer to; one of the quantizer's own takes its place.
bool has_own_qconfig(const Tree& tree) {
  const Tree* model = tree.find("model");
  const Tree* quantizer = model ? model->find("quantizer") : nullptr;
  const Tree* own = quantizer ? quantizer->find("global_qconfig") : nullptr;
  return own && !own->is_null();
}

const Tree* architecture_of(const Tree& tree) {
  const Tree* model = tree.find("model");
  const Tree* inside = model ? model->find("architecture") : nullptr;
  const Tree* found = inside ? inside : tree.find("architecture");
  return found && (found->is_map() || found->is_text()) ? found : nullptr;
}

void read_loader(MapReader map, JobConfig& job) {
  job.calibration.batch = map.integer("batch_size", 1).value_or(0);
  job.calibration.workers = static_cast<int>(map.integer("num_workers", 0).value_or(1));
  map.rest();  // the data set, its sampler and its pipeline are mmengine's
  note(job, "'test_cfg.calibrate_dataloader': its data set is not read; name the data under 'quench.data'");
}

// Returns whether it is PTQLoop.
bool read_test_loop(MapReader map, JobConfig& job) {
  const bool is_ptq = without_scope(map.text("type").value_or("")) == "PTQLoop";
  if (is_ptq) job.calibration.batches = map.integer("calibrate_steps", 1).value_or(32);
  if (auto loader = map.map("calibrate_dataloader")) read_loader(*loader, job);
  if (map.flag("only_val").value_or(false))
    fail_at(
        *map.find("only_val"), "'", map.path_of("only_val"),
        "' evaluates a model that was calibrated before: 'quench eval MODEL.quench.onnx' does that; remove the key to "
        "calibrate");
  note_half(map, job);
  skip(job, map, {"dataloader", "evaluator"}, "name the data under 'quench.data'");
  map.finish();
  return is_ptq;
}

void read_surroundings(MapReader& top, JobConfig& job) {
  if (auto randomness = top.map("randomness")) {
    job.seed = static_cast<std::uint64_t>(randomness->integer("seed", 0).value_or(0));
    for (const char* key : {"deterministic", "diff_rank_seed"}) randomness->find(key);
    randomness->finish();
  }
  job.output = top.text("work_dir").value_or("");
  if (const auto checkpoint = top.text("float_checkpoint")) job.metadata["float_checkpoint"] = *checkpoint;
  keep(job, JobStage::kTrace, top, {"architecture"});
  skip(job, top,
       {"train_dataloader", "val_dataloader", "test_dataloader", "val_evaluator", "test_evaluator", "dataset_type",
        "data_root", "train_pipeline", "val_pipeline", "test_pipeline"},
       "name the data under 'quench.data'");
  skip(job, top, {"load_from"},
       "not used: mmengine loads it over the model with its quantizers; weights of the float network are "
       "'float_checkpoint'");
  if (top.flag("resume").value_or(false))
    note(job, "'resume': not used; QuantizeOptions::resume continues an interrupted run");
  for (const char* key :
       {"default_scope", "env_cfg", "vis_backends", "visualizer", "log_level", "log_processor", "launcher",
        "custom_imports", "experiment_name", "bgr_mean", "bgr_std", "file_client_args", "backend_args"})
    top.find(key);  // mmengine's own
}

}  // namespace

void note_half(MapReader& loop, JobConfig& job) {
  if (loop.flag("fp16").value_or(false))
    note(job, concat("'", loop.path_of("fp16"), "': not used; evaluation runs in float32"));
}

void read_deploy_config(MapReader map, JobConfig& job) {
  if (auto onnx = map.map("onnx_config")) {
    job.deploy.opset = onnx->integer("opset_version", 7).value_or(0);
    if (const auto file = onnx->text("save_file")) job.deploy.name = std::filesystem::path(*file).stem().string();
    skip(job, *onnx, {"input_names", "output_names", "input_shape", "dynamic_axes"},
         "the model file says what its inputs and outputs are");
    for (const char* key : {"type", "export_params", "keep_initializers_as_inputs", "optimize"}) onnx->find(key);
    onnx->finish();
  }
  if (auto codebase = map.map("codebase_config")) {
    skip(job, *codebase, {"type", "task", "model_type", "post_processing"}, "only the network is deployed");
    codebase->finish();
  }
  if (auto backend = map.map("backend_config")) {
    skip(job, *backend, {"type", "common_config", "model_inputs"}, "the platform says what is written");
    backend->finish();
  }
  map.find("function_record_to_pop");
  map.finish();
}

void read_mmrazor(const Tree& tree, JobConfig& job) {
  job.layout = "mmrazor";
  const Tree scopeless = without_scopes(tree);
  MapReader top(scopeless, "");
  Normalization norm;
  if (auto preprocessor = top.map("data_preprocessor")) norm = read_preprocessor(*preprocessor, job);
  const Tree* qconfig = top.find("global_qconfig");
  if (qconfig && !has_own_qconfig(scopeless)) apply_global_qconfig({*qconfig, "global_qconfig"}, job);
  if (auto model = top.map("model")) read_model(*model, norm, job);
  auto test = top.map("test_cfg");
  const bool is_ptq = test && read_test_loop(*test, job);
  read_training(top, job);
  if (auto deploy = top.map("deploy_cfg")) read_deploy_config(*deploy, job);
  read_surroundings(top, job);
  if (const Tree* own = top.find("quench")) read_own(*own, "quench", job);
  note_optimizer(scopeless, job);
  finish_layout(top);
  if (qconfig && job.quant.platform.empty())
    fail_at(*qconfig,
            "'global_qconfig' needs a 'model' with a 'quantizer' that names its backend, or "
            "'quench.platform'");
  if (const Tree* architecture = architecture_of(scopeless)) use_architecture(*architecture, job);
  if (job.model.empty() && job.metadata.contains("float_checkpoint"))
    note(job, "'float_checkpoint' holds weights without a model; name the model file under 'quench.model'");
  job.mean = norm.mean;
  job.std = norm.std;
  normalize_data(job);
  if (!is_ptq) return;
  job.calibration.on_quantized |= job.quant.parity;
  if (!job.calibration.on_quantized)
    note(job,
         "PTQLoop: calibrated on float activations; 'quench.calibration.on_quantized' or parity gives the "
         "reference's behaviour, where scales change while later layers observe");
}

}  // namespace quench
