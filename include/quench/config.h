// A job as a file describes it: quench's own schema, or MQBench's or mmrazor's layout mapped onto it (docs/config.md).
// YAML or JSON. An unknown key is an error with the nearest known one; errors carry the line and the file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quench/calibrate.h"
#include "quench/data.h"
#include "quench/options.h"
#include "quench/plan.h"
#include "quench/quant_config.h"
#include "quench/train.h"

namespace quench {

// The stage that would read a key that this version only keeps.
enum class JobStage : std::uint8_t { kTrace, kQuantize, kReconstruct, kTrain, kDeploy };

// A key that was understood but whose stage is not built: refuse_unbuilt names it.
struct KeptKey {
  JobStage stage = JobStage::kTrain;
  std::string key;    // "train_cfg.max_epochs"
  std::string value;  // as YAML on one line
  std::string where;  // "at line 3 of ptq.yaml"
};

struct JobData {
  std::optional<DatasetSpec> calib, eval;
  std::optional<DatasetSpec> train, val;  // of training: what it learns from, what chooses the best epoch
};

// A reconstruction method and all its options, those not given with their defaults. Lists are words: "20,2".
struct MethodConfig {
  std::string name;  // adaround, brecq, qdrop, blockwise, networkwise; "" for none
  Options options;
};

// Where the target's files go, and under which name.
struct DeployConfig {
  std::string folder;      // "": deploy/ in the output folder
  std::string name;        // "": the model file's
  std::int64_t opset = 0;  // 0: the lowest that serves
  Options exporter;        // options of the platform's exporter
};

struct JobConfig {
  int version = 1;
  std::vector<std::string> plugins;       // shared libraries; read_config has loaded them
  std::string layout = "quench";          // the layout that was read: quench, mqbench, mmrazor
  std::string model;                      // file; "" if the config names none
  std::vector<std::string> input_shapes;  // of the model's inputs, if its file does not give them: "1,3,224,224"
  QuantConfig quant;                      // platform "" if the config names none
  JobData data;
  std::vector<std::string>
      metrics;            // that data.eval is measured by: "top1", "mse:output=logits"; empty: as the data is
  std::string mean, std;  // of images whose data names no normalization, "0.485,0.456,0.406": mmrazor's preprocessor
  CalibrationOptions calibration;
  std::int64_t calibration_samples = 0;  // at most this many items of the data for calibration; 0: all
  MethodConfig method;
  std::optional<TrainOptions> train;              // quantization-aware training; absent: none
  std::optional<bool> equalize;                   // absent: the platform's default
  std::optional<bool> smooth;                     // the same
  std::optional<BiasCorrection> bias_correction;  // absent: the platform's default
  DeployConfig deploy;
  std::uint64_t seed = 0;
  std::string output;  // folder; "" if the config names none

  std::vector<std::string> preserve;            // names of Graph::metadata that every file made must carry
  std::map<std::string, std::string> metadata;  // goes with the model: leaf modules, texts that `preserve` names
  std::vector<KeptKey> kept;
  std::map<std::string, std::string> rule_places;  // where a rule of quant.layers stands: "at line 4 of job.yaml"
  std::vector<std::string> notes;  // what was read differently from what the file says, and why; for the user
};

// `overrides` are "a.b=c" (of --set or --cfg-options); c is YAML; a number as a key is a place in a list. They are
// applied to the file, with its _base_, before anything is read.
JobConfig read_config(const std::string& path, const std::vector<std::string>& overrides = {});
// The same from a text; `name` is for messages, and _base_ is looked for beside it.
JobConfig config_from_text(const std::string& text, const std::vector<std::string>& overrides = {},
                           const std::string& name = "config");

// As make_plan(graph, job.quant) (quench/platform.h); an error about a rule says where that stands.
QuantPlan make_plan(const Graph& graph, const JobConfig& job);

// In quench's own schema; read back it gives the same job.
std::string to_yaml(const JobConfig& job);

// Gives data that names no normalization the job's own. read_config has done so for what the file names.
void normalize_data(JobConfig& job);

// Throws when the config asks for something in this stage that is not built, and names the keys.
void refuse_unbuilt(const JobConfig& job, JobStage stage);

const char* name_of(JobStage stage);  // "trace", "quantize", "reconstruct", "train", "deploy"

}  // namespace quench
