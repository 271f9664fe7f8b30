// qdq: QuantizeLinear and DequantizeLinear, the form that ONNX Runtime, TensorRT, OpenVINO and others read.
#include "deploy/lowest_opset.h"
#include "deploy/qdq_graph.h"
#include "quench/deploy.h"
#include "quench/error.h"

namespace quench {
namespace {

void write_qdq(const DeployJob& job, Deployment& deployment) {
  DeployFile file;
  file.name = job.name + "_qdq.onnx";
  file.model = qdq_graph(job.graph);
  file.opset = lowest_opset(file.model, kFirstQdqOpset, job.opset);
  file.what = concat("QuantizeLinear and DequantizeLinear, opset ", file.opset);
  deployment.files.push_back(std::move(file));
}

}  // namespace

QUENCH_REGISTER_EXPORTER("qdq", write_qdq, "QuantizeLinear and DequantizeLinear: N_qdq.onnx")

}  // namespace quench
