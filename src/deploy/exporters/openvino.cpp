// openvino, fake_quantize_onnx: quantizers as FakeQuantize nodes of OpenVINO's ONNX domain.
// docs/platforms.md 5.4 and 6; the two differ only in the names of the ranges.
#include <ATen/ATen.h>

#include "convert/quantized.h"
#include "deploy/deploy_files.h"
#include "deploy/file_endings.h"
#include "deploy/forms/side_file.h"
#include "deploy/forms/strip.h"
#include "quench/error.h"
#include "quench/pass.h"
#include "quench/quantized_model.h"

namespace quench {
namespace {

constexpr const char* kOperator = "org.openvinotoolkit.FakeQuantize";

// How the range's end "input_min" of the tensor x is called.
using RangeName = std::string (*)(const std::string& tensor, const char* end);
std::string end_first(const std::string& tensor, const char* end) { return concat(end, "_", tensor); }
std::string tensor_first(const std::string& tensor, const char* end) { return concat(tensor, "_", end); }

struct Codes {
  int min, max;
};

// OpenVINO has integer kernels for 256 levels, none for 128. The codes of a weight are fixed by then (it is baked), so
// that a range of twice the width at the same step changes none (D37).
Codes codes_of(const QType& type, bool is_weight) {
  const Codes codes{type.scheme.qmin(), type.scheme.qmax()};
  const bool widened = is_weight && type.scheme.levels() == 128;
  return widened ? Codes{2 * codes.min, 2 * codes.max + 1} : codes;
}

class FakeQuantizeGraph {
 public:
  FakeQuantizeGraph(const Graph& ready, RangeName range_name) : graph_(ready), range_name_(range_name) {}

  Graph make() && {
    drop_empty_pads(graph_);
    const std::map<std::string, at::Tensor> baked = baked_constants(graph_);
    for (Node* node : bias_quantizers_of(graph_)) replace_by_baked(graph_, *node, baked.at(node->output().name()));
    for (Node* node : quantizers_of(graph_)) {
      const bool is_weight = node->input(0)->is_constant();
      if (is_weight) bake_source(graph_, *node, baked.at(node->output().name()));
      with_context([&] { return concat("at ", node->where()); }, [&] { rename(*node, is_weight); });
    }
    graph_.sort();
    PassRegistry::instance()
        .get("eliminate_dead")
        .run(graph_);        // not run_passes: it verifies, and knows no FakeQuantize
    drop_plan_text(graph_);  // it mentions quantizers that are gone
    return std::move(graph_);
  }

 private:
  void rename(Node& node, bool is_weight) {
    const QType type = qtype_of(node);
    QUENCH_CHECK(type.scheme.is_int() && type.scheme.granularity() != Granularity::kGroup, "'", type.scheme.text(),
                 "' has no FakeQuantize form; only integers with one scale, or one per channel, have");
    const Codes codes = codes_of(type, is_weight);
    const auto [low, high] = range_of(type, codes, shape_of(type, *node.input(0)));
    const std::string tensor = node.input(0)->name();
    const auto constant = [&](const char* end, const at::Tensor& values) {
      return &graph_.add_constant(graph_.unique_name(range_name_(tensor, end)), values);
    };
    graph_.set_inputs(node, {node.input(0), constant("input_min", low), constant("input_max", high),
                             constant("output_min", low), constant("output_max", high)});
    graph_.set_op(node, kOperator);
    node.metadata.clear();
    node.attrs = {{"levels", std::int64_t{codes.max} - codes.min + 1}};
  }

  // One element; or as many ones as the tensor has axes, with the channels in their place.
  static std::vector<std::int64_t> shape_of(const QType& type, const Value& value) {
    if (type.scheme.per_tensor()) return {1};
    std::vector<std::int64_t> shape(static_cast<std::size_t>(value.rank()), 1);
    shape[static_cast<std::size_t>(type.scheme.axis_of(value.rank()))] = -1;
    return shape;
  }

  // docs/numerics.md 12: high = (p - z) * s, low = high - s * (p - n), in double.
  static std::pair<at::Tensor, at::Tensor> range_of(const QType& type, Codes codes,
                                                    const std::vector<std::int64_t>& shape) {
    const auto scale = at::tensor(at::ArrayRef<float>(type.params.scale)).to(at::kDouble);
    const auto zero_point = at::tensor(at::ArrayRef<std::int32_t>(type.params.zero_point)).to(at::kDouble);
    const at::Tensor high = (codes.max - zero_point) * scale;
    const at::Tensor low = high - scale * (codes.max - codes.min);
    return {low.to(at::kFloat).reshape(shape), high.to(at::kFloat).reshape(shape)};
  }

  Graph graph_;
  RangeName range_name_;
};

void write(const DeployJob& job, RangeName range_name, Deployment& deployment) {
  DeployFile file = model_file(job, kStrippedEnding, FakeQuantizeGraph(job.graph, range_name).make());
  file.what = concat("FakeQuantize of domain org.openvinotoolkit, opset ", file.opset);
  deployment.files.push_back(std::move(file));
}

// Beside it the form that OpenVINO reads as well, and that `quench verify` compares code by code.
void write_openvino(const DeployJob& job, Deployment& deployment) {
  write(job, end_first, deployment);
  deployment.files.back().use = FileUse::kInstead;
  put_file(deployment, qdq_file(job));
}
void write_mmrazor(const DeployJob& job, Deployment& deployment) { write(job, tensor_first, deployment); }

}  // namespace

QUENCH_REGISTER_EXPORTER("openvino", write_openvino,
                         "OpenVINO's FakeQuantize nodes: N_deploy_model.onnx; N_qdq.onnx beside it")
QUENCH_REGISTER_EXPORTER("fake_quantize_onnx", write_mmrazor,
                         "OpenVINO's FakeQuantize nodes under mmrazor's names: N_deploy_model.onnx")

}  // namespace quench
