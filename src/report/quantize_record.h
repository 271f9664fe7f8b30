// All that a job of quantizing learned: what it writes as JSON, into the model file and into the text report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quench/calibrate.h"
#include "quench/evaluate.h"
#include "quench/plan.h"
#include "quench/profile.h"
#include "quench/ptq.h"
#include "report/agreement.h"
#include "report/file_hash.h"
#include "report/json.h"
#include "report/model_size.h"
#include "report/stages.h"

namespace quench {

struct QuantizeRecord {
  std::string model;   // the file that was quantized
  std::string config;  // the whole job as YAML
  std::uint64_t seed = 0;
  std::string device = "cpu";
  std::vector<FileHash> files;  // the model's and the data's
  std::optional<QuantPlan> plan;
  std::optional<CalibrationRecord> calibration;
  std::optional<EqualizeRecord> equalized;
  std::optional<SmoothRecord> smoothed;
  std::optional<BiasCorrectionRecord> corrected;
  std::optional<AgreementRecord> agreement;  // with float, on a few of the calibration images
  std::optional<EvalResult> float_eval, quantized_eval;
  std::optional<ProfileRecord> profile;
  std::optional<WeightSize> size;
  std::vector<std::string> notes;     // what was asked for and changed nothing, what was read otherwise
  std::vector<std::string> warnings;  // what makes the result useless
  std::vector<StageRecord> stages;
};

// What the model file carries: versions, seed, hashes, config. The same job gives the same text.
Json provenance_of(const QuantizeRecord& record);
// That, every scale, errors of layers, results and timings.
Json json_of(const QuantizeRecord& record);
// For people: accuracy, damage, what stayed float and why, sizes, time and memory.
std::string report_text(const QuantizeRecord& record);
// Its first part: the plan in short, and the accuracy.
std::string summary_text(const QuantizeRecord& record);

}  // namespace quench
