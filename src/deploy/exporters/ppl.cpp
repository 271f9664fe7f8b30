// ppl: steps and ranges for SenseTime's PPL, weights included; docs/platforms.md 5.2.
#include "deploy/file_endings.h"
#include "deploy/forms/side_file.h"

namespace quench {
namespace {

// One number per tensor, lists per channel.
Json numbers(const QType& type, Json (*of)(const QType&, std::size_t)) {
  if (type.scheme.per_tensor()) return of(type, 0);
  Json list = Json::array();
  for (std::size_t channel = 0; channel < type.params.scale.size(); ++channel) list.push_back(of(type, channel));
  return list;
}

Json entry_of(const QType& type) {
  Json entry;
  entry["step"] = numbers(type, [](const QType& t, std::size_t c) { return Json(t.params.scale[c]); });
  entry["zero_point"] = numbers(type, [](const QType& t, std::size_t c) { return Json(t.params.zero_point[c]); });
  entry["min"] = numbers(type, [](const QType& t, std::size_t c) { return Json(ends_of(t, c).min); });
  entry["max"] = numbers(type, [](const QType& t, std::size_t c) { return Json(ends_of(t, c).max); });
  entry["bit"] = type.scheme.bits();
  entry["type"] = "biased";
  return entry;
}

void write_ppl(const DeployJob& job, Deployment& deployment) {
  StrippedModel model = strip_quantizers(job.graph);
  pass_ranges_back(model);
  Json entries = Json::object();
  for (const StrippedTensor& tensor : model.tensors) entries[tensor.name] = entry_of(tensor.type);
  check_tensors(model.graph, entries);
  Json content;
  content["ppl"] = std::move(entries);
  deployment.files.push_back(model_file(job, kStrippedEnding, model.graph));
  deployment.files.push_back(json_file(job, "_clip_ranges.json", content, "step, zero point and range of each tensor"));
}

}  // namespace

QUENCH_REGISTER_EXPORTER("ppl", write_ppl, "steps and ranges for PPL, weights included: N_clip_ranges.json", {},
                         IoTypes::kFloat32)

}  // namespace quench
