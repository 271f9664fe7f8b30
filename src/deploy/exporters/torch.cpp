// torch: what PyTorch's own engines run is an integer module, not a file of scales. Its arithmetic is that of the
// converted model (docs/numerics.md 11), which is written as a quench file.
#include "quench/convert.h"
#include "quench/deploy.h"
#include "quench/error.h"
#include "quench/platform.h"

namespace quench {
namespace {

void write_torch(const DeployJob& job, Deployment& deployment) {
  ConvertOptions options;
  options.requantize = find_platform(job.platform).requantize;
  ConvertRecord record;
  Graph file = with_plan_text(convert(quantized_model_of(job.graph), options, &record));
  deployment.files.push_back({job.name + "_int8.quench.onnx",
                              concat("integers alone, requantized as ", record.requantize, " does: ", record.layers,
                                     " layers on codes, ", record.in_float.size(), " operators in float"),
                              std::move(file), 21, ""});
  for (const std::string& warning : record.warnings) deployment.notes.push_back(warning);
}

}  // namespace

QUENCH_REGISTER_EXPORTER("torch", write_torch, "the converted model, in the arithmetic of PyTorch's engine")

}  // namespace quench
