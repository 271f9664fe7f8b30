// MQBench's layouts: the bare prepare_custom_config_dict, the YAML of its image classification example, and the `quant`
// layout of its NLP and ViT examples (docs/config.md 3).
#include "config/layouts.h"
#include "config/mqbench.h"

namespace quench {
namespace {

void read_quantize(MapReader map, JobConfig& job) {
  const auto type = map.choice("quantize_type", {"naive_ptq", "advanced_ptq"});
  if (const auto backend = map.text("backend")) set_platform(job, *map.find("backend"), *backend);
  job.calibration.batches = map.integer("cali_batchsize", 1).value_or(16);
  read_reconstruction(map, type == "advanced_ptq", job);
  if (auto deploy = map.map("deploy")) {
    job.deploy.folder = deploy->text("output_path").value_or("");
    job.deploy.name = deploy->text("model_name").value_or("");
    if (const auto qlinear = deploy->flag("deploy_to_qlinear"))
      job.deploy.exporter.set("deploy_to_qlinear", *qlinear ? 1.0 : 0.0);
    deploy->finish();
  }
  map.finish();
}

void read_model(MapReader map, JobConfig& job) {
  job.model = map.text("path").value_or("");
  skip(job, map, {"type", "kwargs"}, "the model file says what the model is");
  map.finish();
}

// An ImageNet folder with train/ and val/, resized and cropped as MQBench's example does.
void read_image_data(MapReader map, JobConfig& job) {
  const std::int64_t size = map.integer("input_size", 1).value_or(224);
  const std::int64_t resize = map.integer("test_resize", 1).value_or(256);
  if (const auto path = map.text("path")) {
    const std::map<std::string, std::string> options = {
        {"norm", "imagenet"}, {"resize", std::to_string(resize)}, {"crop", std::to_string(size)}};
    job.data.calib = DatasetSpec{"images", *path + "/train", options};
    job.data.eval = DatasetSpec{"images", *path + "/val", options};
  }
  job.calibration.batch = map.integer("batch_size", 1).value_or(64);
  job.calibration.workers = static_cast<int>(map.integer("num_workers", 0).value_or(1));
  skip(job, map, {"pin_memory"}, "means nothing here");
  map.finish();
}

void read_process(MapReader map, JobConfig& job) {
  job.seed = static_cast<std::uint64_t>(map.integer("seed", 0).value_or(1005));
  map.finish();
}

void read_quant(MapReader map, JobConfig& job) {
  const bool pot = map.flag("pot_scale").value_or(false);
  if (auto weight = map.map("w_qconfig")) read_nlp_qconfig(*weight, Role::kWeight, pot, job);
  if (auto activation = map.map("a_qconfig")) read_nlp_qconfig(*activation, Role::kActivation, pot, job);
  job.calibration_samples = map.integer("calibrate", 1).value_or(0);
  if (const auto backend = map.text("backend")) {
    const bool known = *backend == "academic" || *backend == "tensorrt";
    set_platform(job, *map.find("backend"), known ? *backend + "_nlp" : *backend);
  }
  map.finish();
}

// The rest of the NLP and ViT examples is the Transformers library's own.
void read_nlp_rest(MapReader& map, JobConfig& job) {
  if (auto train = map.map("train")) {
    job.seed = static_cast<std::uint64_t>(train->integer("seed", 0).value_or(0));
    job.output = train->text("output_dir").value_or("");
    keep(job, JobStage::kTrain, *train, train->rest());
  }
  skip(job, map, {"data", "model", "progress"},
       "are the Transformers library's; name the model file and the data under 'quench'");
}

}  // namespace

void read_mqbench(const Tree& tree, JobConfig& job) {
  job.layout = "mqbench";
  MapReader map(tree, "");
  if (auto quant = map.map("quant")) {
    read_quant(*quant, job);
    read_nlp_rest(map, job);
  } else if (map.find("quantize") || map.find("extra_prepare_dict")) {
    if (auto prepare = map.map("extra_prepare_dict")) {
      read_prepare_dict(*prepare, job);
      prepare->finish();
    }
    if (auto quantize = map.map("quantize")) read_quantize(*quantize, job);
    if (auto model = map.map("model")) read_model(*model, job);
    if (auto data = map.map("data")) read_image_data(*data, job);
    if (auto process = map.map("process")) read_process(*process, job);
  } else if (auto prepare = map.map("prepare_custom_config_dict")) {
    read_prepare_dict(*prepare, job);
    prepare->finish();
  } else {
    read_prepare_dict(map, job);
  }
  if (const Tree* own = map.find("quench")) read_own(with_reconstruction(*own, tree, job), "quench", job);
  // Only now: the academic platform may not be what 'quench.platform' says.
  if (const Tree* quantize = map.find("quantize"); quantize && job.quant.platform.empty())
    set_platform(job, *quantize, "academic");
  finish_layout(map);
}

}  // namespace quench
