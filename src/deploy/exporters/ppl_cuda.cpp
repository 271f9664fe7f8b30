// ppl_cuda: ranges for PPL on CUDA; docs/platforms.md 5.2. The reference's file of lines is called .json; a true JSON
// file lies beside it. Weights per channel have no line: PPL quantizes them itself.
#include <algorithm>

#include "deploy/file_endings.h"
#include "deploy/forms/side_file.h"

namespace quench {
namespace {

// max(-(n - z) s, (p - z) s): docs/numerics.md 12.
double range_of(const StrippedTensor& tensor) {
  const Ends ends = ends_of(tensor.type);
  return std::max(-ends.min, ends.max);
}

void write_ppl_cuda(const DeployJob& job, Deployment& deployment) {
  StrippedModel model = strip_quantizers(job.graph);
  pass_ranges_back(model);
  Json ranges = Json::object();
  std::vector<TextLine> lines;
  for (const StrippedTensor& tensor : model.tensors) {
    if (tensor.role == Role::kActivation) check_per_tensor(tensor, "PPL on CUDA");
    if (!tensor.type.scheme.per_tensor()) continue;
    ranges[tensor.name] = range_of(tensor);
    lines.emplace_back(tensor.name, number_text(range_of(tensor)));
  }
  check_tensors(model.graph, ranges);
  Json content;
  content["ppl-cuda"] = std::move(ranges);
  deployment.files.push_back(model_file(job, kStrippedEnding, model.graph));
  deployment.files.push_back(text_file(job, "_clip_ranges.json", lines, ": ", "ranges as lines, as PPL reads them"));
  deployment.files.push_back(json_file(job, "_ppl_cuda_ranges.json", content, "the same ranges as JSON"));
  deployment.files.back().use = FileUse::kInstead;
}

}  // namespace

QUENCH_REGISTER_EXPORTER("ppl_cuda", write_ppl_cuda,
                         "ranges for PPL on CUDA: lines in N_clip_ranges.json, JSON in N_ppl_cuda_ranges.json", {},
                         IoTypes::kFloat32)

}  // namespace quench
