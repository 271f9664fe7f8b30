// qdq: QuantizeLinear and DequantizeLinear, the form that ONNX Runtime, TensorRT, OpenVINO and others read; with an
// option the same in operators on codes. mqbench_qdq and qdq_onnx are the forms of MQBench and mmrazor.
#include "convert/quantized.h"
#include "deploy/deploy_files.h"
#include "deploy/file_endings.h"
#include "deploy/forms/qoperator_graph.h"
#include "deploy/onnx/lowest_opset.h"
#include "quench/error.h"
#include "quench/quantized_model.h"

namespace quench {
namespace {

DeployFile qoperator_file(const DeployJob& job) {
  DeployFile file;
  file.name = job.name + kQOperatorEnding;
  file.model = qdq_graph(job.graph, {.names = QdqStyle::Names::kProducer});
  const int replaced = use_quantized_operators(file.model);
  drop_plan_text(file.model);  // it mentions quantizers that are gone
  file.opset = lowest_opset(file.model, kFirstQdqOpset, job.opset);
  file.what = concat(replaced, " operators on codes (QLinearConv, QGemm, ...), opset ", file.opset);
  file.use = FileUse::kInstead;
  return file;
}

void write_qdq(const DeployJob& job, Deployment& deployment) {
  put_file(deployment, qdq_file(job));
  if (job.options.flag("qoperator")) put_file(deployment, qoperator_file(job));
}

void note_unclipped(const DeployJob& job, Deployment& deployment) {
  int found = 0;
  for (const Node* node : quantizers_of(job.graph)) {
    const QScheme scheme = fake_quant_spec(*node).scheme;
    if (!node->input(0)->is_constant() && scheme.is_int() && scheme.is_signed() && scheme.narrow()) ++found;
  }
  if (found > 0)
    deployment.notes.push_back(
        concat(found,
               " activations keep to -127..127, which bare pairs cannot express: the runtime may "
               "give the code -128 where quench gives -127 (option clip_lowest)"));
}

QdqStyle style_of(const DeployJob& job, QdqStyle::Names names) {
  return {.names = names, .clip_lowest = job.options.flag("clip_lowest")};
}

void write_mqbench(const DeployJob& job, Deployment& deployment) {
  put_file(deployment, qdq_file(job, style_of(job, QdqStyle::Names::kTensor)));
  if (!job.options.flag("clip_lowest")) note_unclipped(job, deployment);
}

void write_mmrazor(const DeployJob& job, Deployment& deployment) {
  put_file(deployment, qdq_file(job, style_of(job, QdqStyle::Names::kQuantizer)));
  if (!job.options.flag("clip_lowest")) note_unclipped(job, deployment);
}

const std::vector<OptionInfo>& options() {
  static const std::vector<OptionInfo> all = {
      {"qoperator", 0.0, "N_qoperator.onnx too: QLinearConv, QGemm and the like instead of pairs"}};
  return all;
}

const std::vector<OptionInfo>& bare_options() {
  static const std::vector<OptionInfo> all = {
      {"clip_lowest", 0.0, "keep the codes of -127..127 off -128 by a Clip, which not every tool reads"}};
  return all;
}

}  // namespace

void put_file(Deployment& deployment, DeployFile file) {
  for (DeployFile& present : deployment.files)
    if (present.name == file.name) {
      present = std::move(file);
      return;
    }
  deployment.files.push_back(std::move(file));
}

DeployFile qdq_file(const DeployJob& job, const QdqStyle& style) {
  DeployFile file;
  file.name = job.name + kQdqEnding;
  file.model = qdq_graph(job.graph, style);
  file.opset = lowest_opset(file.model, kFirstQdqOpset, job.opset);
  file.what = concat("QuantizeLinear and DequantizeLinear, opset ", file.opset);
  return file;
}

QUENCH_REGISTER_EXPORTER("qdq", write_qdq, "QuantizeLinear and DequantizeLinear: N_qdq.onnx", options())
QUENCH_REGISTER_EXPORTER("mqbench_qdq", write_mqbench,
                         "QuantizeLinear and DequantizeLinear as MQBench writes them: N_qdq.onnx", bare_options())
QUENCH_REGISTER_EXPORTER("qdq_onnx", write_mmrazor,
                         "QuantizeLinear and DequantizeLinear under mmrazor's names: N_qdq.onnx", bare_options())

}  // namespace quench
