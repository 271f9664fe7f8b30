// The whole of quantization in one call: fuse, equalize, plan, smooth, insert, calibrate, correct biases, reconstruct
// (if a method is named) or train (if the job says how), then measure. `quench quantize` and `quench train` call it and
// nothing more. Each step is a function of its own (quench/prepare.h, calibrate.h, ptq.h), and calling them one by one
// gives the same model.
//
//   quench::Quantized result = quench::quantize("model.onnx", *data, {.platform = "onnxruntime"});
//   quench::write_deployment(quench::deploy(result.model, {.name = "model"}), "files");
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quench/agreement.h"
#include "quench/calibrate.h"
#include "quench/config.h"
#include "quench/evaluate.h"
#include "quench/model_size.h"
#include "quench/profile.h"
#include "quench/ptq.h"
#include "quench/quantized_model.h"
#include "quench/reconstruct.h"
#include "quench/train.h"

namespace quench {

class Processes;

struct StageRecord {
  std::string name;
  double seconds = 0.0;
  std::int64_t peak_bytes = 0;  // of the whole process while the stage ran; 0 if the system does not tell
};

// A file that a result came from, so that a record can be checked with sha1sum.
struct FileHash {
  std::string path;
  std::string sha1;  // of the bytes; of a folder and of very large files: of the names and sizes
  bool of_bytes = true;
};

// What a metric says of the quantized network, less what it says of the float one.
struct MetricChange {
  std::string metric;
  PairedDifference difference;
};

// All that was learned on the way.
struct QuantizeRecord {
  std::string model;          // the file that was quantized
  std::string item = "item";  // what the data consists of: "image", "text"
  std::string config;         // the whole job as YAML, what the platform decided included
  std::uint64_t seed = 0;
  std::string device = "cpu";
  std::vector<FileHash> files;    // the model's and the data's, where a command line named them
  std::optional<QuantPlan> plan;  // as in the model
  std::optional<CalibrationRecord> calibration;
  std::optional<EqualizeRecord> equalized;
  std::optional<SmoothRecord> smoothed;
  std::optional<BiasCorrectionRecord> corrected;
  std::optional<ReconstructionRecord> reconstructed;
  std::optional<TrainRecord> trained;
  std::optional<AgreementRecord> agreement;  // with float, on a few of the calibration items
  std::optional<EvalResult> float_eval, quantized_eval;
  std::optional<EvalResult> integer_eval;  // of the converted model
  std::vector<MetricChange> changes;       // of the metrics that were asked for
  std::optional<ProfileRecord> profile;
  std::optional<WeightSize> size;
  std::vector<std::string> notes;     // what was asked for but changed nothing, what was read differently
  std::vector<std::string> warnings;  // what makes the result useless, or worse than it was
  std::vector<StageRecord> stages;
};

struct Quantized {
  QuantizedModel model;  // if stopped before `insert`, its graph is the float one at that point
  QuantizeRecord record;
};

struct QuantizeData {
  QuantizeData(const Dataset& calib_data) : calib(&calib_data) {}  // NOLINT: one data set is all that is needed
  QuantizeData() = default;

  const Dataset* calib = nullptr;       // null only if the work stops before `calibrate`
  const Dataset* train = nullptr;       // for a job that trains
  const Dataset* validation = nullptr;  // chooses the best epoch
  const Dataset* eval = nullptr;        // accuracy in float and quantized is measured on it
  const Dataset* profile = nullptr;     // errors of single layers are measured on it
};

struct QuantizeOptions {
  std::optional<QuantPlan> plan;  // instead of the platform's own
  std::string plan_name;          // of it, for messages
  // Evaluates in integers too; nothing said: if the engine has kernels for all of them.
  std::optional<bool> integer_eval;
  std::string stop_after;                                      // the last stage (quantize_stages()); "": all
  std::function<void(const std::string& stage)> before_stage;  // what is checked before it has passed
  std::function<void(const StageRecord& stage, const Graph& graph)> after_stage;
  std::function<void(const std::string& what, std::int64_t done, std::int64_t total)> progress;
  std::function<void(const std::string& warning)> warned;  // as soon as it is known; the record has them all
  std::function<void(const UnitRecord& unit, std::size_t index, std::size_t count)> unit_done;  // of reconstruction
  const Processes* processes = nullptr;  // calibrate, train and evaluate together; the first one's record is complete
  std::string checkpoint;  // a folder where reconstruction keeps finished units and looks for them; "": none
  std::string training;    // a folder where training keeps its checkpoints and logs; "": none
  bool resume = false;     // training goes on from the checkpoint there
  std::function<void(const TrainEpoch& epoch)> epoch_done;
  std::function<void(double score)> start_measured;  // of training, before its first step
  std::function<bool()> stop;                        // asked after each step of training: see TrainOptions::stop
};

// What the config leaves open (equalize, smooth, bias_correction) is the platform's. Throws for a graph that is
// already quantized.
// Of a JobConfig, what names files and data (`data`, `output`, `deploy`, `calibration_samples`, `metadata`) is the
// caller's to carry out; of `metadata`, what `preserve` names goes into the model.
Quantized quantize(const Graph& graph, const QuantizeData& data, const JobConfig& config,
                   const QuantizeOptions& options = {});
Quantized quantize(const Graph& graph, const QuantizeData& data, const QuantConfig& config,
                   const QuantizeOptions& options = {});
// Of a file (.onnx, .pt2, .pt).
Quantized quantize(const std::string& file, const QuantizeData& data, const JobConfig& config,
                   const QuantizeOptions& options = {});
Quantized quantize(const std::string& file, const QuantizeData& data, const QuantConfig& config,
                   const QuantizeOptions& options = {});

// The same with the calibration data in its text form (docs/data.md), read as the model's input wants it.
Quantized quantize(const std::string& file, const std::string& calib, const QuantConfig& config,
                   const QuantizeOptions& options = {});

// Throws for a model that is already quantized, naming the node; quantize() calls it first.
void check_is_float(const Graph& graph);

// Equalization, smoothing and bias correction: as the config says, or as its platform does it; off under parity.
JobConfig with_platform_defaults(JobConfig config);

// In order; some run only if asked for. "import" and "deploy" belong to the command line.
const std::vector<std::string>& quantize_stages();

}  // namespace quench
