// onnx_qnn: operators on codes for TVM, all of them uint8; layers without one stay float between pairs.
// docs/platforms.md 5.5. Q/DQ beside it: it holds what this form does not (linear layers, scales per channel).
#include "deploy/deploy_files.h"
#include "deploy/file_endings.h"
#include "deploy/forms/qdq_graph.h"
#include "deploy/forms/qoperator_graph.h"
#include "deploy/onnx/lowest_opset.h"
#include "quench/error.h"
#include "quench/quantized_model.h"

namespace quench {
namespace {

void write_onnx_qnn(const DeployJob& job, Deployment& deployment) {
  DeployFile file;
  file.name = job.name + kQOperatorEnding;
  file.model = qdq_graph(job.graph, {.names = QdqStyle::Names::kProducer});
  shift_to_uint8(file.model);
  const int replaced = use_quantized_operators(file.model, {"Conv", "Add", "GlobalAveragePool", "AveragePool"});
  drop_plan_text(file.model);  // it mentions quantizers that are gone
  file.opset = lowest_opset(file.model, kFirstQdqOpset, job.opset);
  file.what = concat(replaced, " operators on uint8 codes (QLinearConv, ...), opset ", file.opset);
  put_file(deployment, std::move(file));
  put_file(deployment, qdq_file(job));
  deployment.files.back().use = FileUse::kInstead;
}

}  // namespace

QUENCH_REGISTER_EXPORTER("onnx_qnn", write_onnx_qnn,
                         "QLinearConv and related operators on uint8: N_qoperator.onnx; N_qdq.onnx beside it")

}  // namespace quench
