#include "report/quantize_record.h"

#include "report/eval_text.h"
#include "report/machine.h"
#include "report/plan_json.h"
#include "report/profile_text.h"
#include "report/reconstruct_text.h"
#include "report/train_text.h"

namespace quench {
namespace {

Json json_of(const std::vector<FileHash>& files) {
  Json list = Json::array();
  for (const FileHash& file : files)
    list.push_back({{"path", file.path}, {"sha1", file.sha1}, {"of", file.of_bytes ? "bytes" : "names and sizes"}});
  return list;
}

Json json_of(const CalibrationRecord& record) {
  Json quantizers = Json::array();
  for (const QuantizerRecord& one : record.quantizers)
    quantizers.push_back({{"value", one.value},
                          {"role", name_of(one.role)},
                          {"scheme", one.scheme},
                          {"observer", one.observer},
                          {"scale", one.params.scale},
                          {"zero_point", one.params.zero_point}});
  return {{"items", record.items},
          {"batches", record.batches},
          {"batch", record.batch},
          {"seconds", record.seconds},
          {"model_seconds", record.model_seconds},
          {"reused", record.reused},
          {"raised", record.raised},
          {"skipped", record.skipped},
          {"quantizers", quantizers}};
}

Json json_of(const EqualizeRecord& record) {
  Json pairs = Json::array();
  for (const EqualizedPair& pair : record.pairs)
    pairs.push_back({{"first", pair.first},
                     {"second", pair.second},
                     {"largest_factor", pair.largest_factor},
                     {"spread_before", pair.spread_before},
                     {"spread_after", pair.spread_after},
                     {"clip", pair.clip},
                     {"held", pair.held}});
  return {{"pairs", pairs},
          {"skipped", record.skipped},
          {"rounds", record.rounds},
          {"change", record.change},
          {"bound", record.bound}};
}

Json json_of(const SmoothRecord& record) {
  Json tensors = Json::array();
  for (const SmoothedTensor& one : record.tensors)
    tensors.push_back({{"value", one.value},
                       {"alpha", one.alpha},
                       {"centred", one.centred},
                       {"outliers", one.outliers},
                       {"error_before", one.error_before},
                       {"error_after", one.error_after},
                       {"product", one.product}});
  return {{"tensors", tensors}, {"skipped", record.skipped}};
}

Json json_of(const BiasCorrectionRecord& record) {
  Json layers = Json::array();
  for (const CorrectedLayer& layer : record.layers)
    layers.push_back({{"layer", layer.layer}, {"largest", layer.largest}, {"mean_shift", layer.mean_shift}});
  return {{"items", record.items}, {"seconds", record.seconds}, {"layers", layers}, {"skipped", record.skipped}};
}

Json json_of(const AgreementRecord& record) {
  return {{"items", record.items}, {"rows", record.rows}, {"same", record.same}, {"sqnr", record.sqnr}};
}

Json json_of(const WeightSize& size) {
  return {{"float_bytes", size.float_bytes},
          {"quantized_bytes", size.quantized_bytes},
          {"elements", size.elements},
          {"quantized_elements", size.quantized_elements}};
}

Json json_of(const std::vector<StageRecord>& stages) {
  Json list = Json::array();
  for (const StageRecord& stage : stages)
    list.push_back({{"name", stage.name}, {"seconds", stage.seconds}, {"peak_bytes", stage.peak_bytes}});
  return list;
}

}  // namespace

Json provenance_of(const QuantizeRecord& record) {
  const Machine machine = describe_machine();
  return {{"quench", machine.version},    {"libtorch", machine.libtorch_version},
          {"compiler", machine.compiler}, {"threads", machine.threads},
          {"device", record.device},      {"seed", record.seed},
          {"model", record.model},        {"files", json_of(record.files)},
          {"config", record.config}};
}

Json json_of(const QuantizeRecord& record) {
  Json object = provenance_of(record);
  object["notes"] = record.notes;
  object["warnings"] = record.warnings;
  if (record.plan) object["plan"] = json_of(*record.plan);
  if (record.calibration) object["calibration"] = json_of(*record.calibration);
  if (record.equalized) object["equalize"] = json_of(*record.equalized);
  if (record.smoothed) object["smooth"] = json_of(*record.smoothed);
  if (record.corrected) object["bias_correction"] = json_of(*record.corrected);
  if (record.reconstructed) object["reconstruction"] = json_of(*record.reconstructed);
  if (record.trained) object["training"] = json_of(*record.trained);
  if (record.agreement) object["agreement"] = json_of(*record.agreement);
  if (record.float_eval) object["float"] = json_of(*record.float_eval);
  if (record.quantized_eval) object["quantized"] = json_of(*record.quantized_eval);
  if (record.integer_eval) object["integer"] = json_of(*record.integer_eval);
  if (record.float_eval && record.quantized_eval && record.float_eval->chosen) {
    object["changes"] = Json::array();
    for (const MetricChange& change : record.changes) {
      Json one = {{"name", change.metric}};
      one.update(json_of(change.difference));
      object["changes"].push_back(std::move(one));
    }
  } else if (record.float_eval && record.quantized_eval && !record.float_eval->predictions.empty()) {
    const PairedTest test = compare_predictions(record.quantized_eval->predictions, record.float_eval->predictions);
    object["agreement"] = agreement_json(test);
    if (record.float_eval->task == Task::kClassify) object["paired"] = json_of(test);
  }
  if (record.profile) object["profile"] = json_of(*record.profile);
  if (record.size) object["size"] = json_of(*record.size);
  object["stages"] = json_of(record.stages);
  return object;
}

}  // namespace quench
