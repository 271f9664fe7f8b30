#include "deploy/reference_nodes.h"

#include <ATen/ATen.h>

#include "deploy/lowest_opset.h"
#include "deploy/onnx_graph.h"
#include "deploy/quantized.h"
#include "deploy/strip.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::int64_t kFirstOpset = 11;

// How a kind of node carries its range of codes.
enum class RangeAs { kInputs, kAttributes, kNothing };

struct NodeKind {
  const char* op;
  RangeAs range;
};

// Algorithms that quantize to a plain grid with a given scale are all "Fixed": their weights are baked.
NodeKind kind_of(const FakeQuantSpec& spec) {
  const bool tensor = spec.scheme.per_tensor();
  if (spec.algorithm == "lsq")
    return tensor ? NodeKind{"LearnablePerTensorAffine", RangeAs::kInputs}
                  : NodeKind{"FakeQuantizeLearnablePerchannelAffine", RangeAs::kAttributes};
  if (spec.algorithm == "dsq")
    return {tensor ? "FakeQuantizeDSQPertensor" : "FakeQuantizeDSQPerchannel", RangeAs::kAttributes};
  if (spec.algorithm == "tqt") return {"FakeQuantizeTqtAffine", RangeAs::kAttributes};
  return {tensor ? "FixedPerTensorAffine" : "FixedPerChannelAffine", RangeAs::kInputs};
}

class ReferenceGraph {
 public:
  explicit ReferenceGraph(const Graph& ready) : graph_(ready) {}

  Graph make() && {
    const std::map<std::string, at::Tensor> baked = baked_constants(graph_);
    for (Node* node : bias_quantizers_of(graph_)) replace_by_baked(graph_, *node, baked.at(node->output().name()));
    for (Node* node : quantizers_of(graph_)) {
      if (node->input(0)->is_constant()) bake_source(*node, baked.at(node->output().name()));
      rename(*node);
    }
    graph_.metadata.erase("quench.plan");
    return std::move(graph_);
  }

 private:
  // Quantizing it again gives the same codes, by whichever algorithm it was rounded.
  void bake_source(Node& node, const at::Tensor& baked) {
    Value& source = *node.input(0);
    if (source.uses().size() == 1) return graph_.set_tensor(source, baked);
    graph_.set_input(node, 0, &graph_.add_constant(graph_.unique_name(source.name() + "_quantized"), baked));
  }

  void rename(Node& node) {
    const FakeQuantSpec spec = fake_quant_spec(node);
    if (spec.algorithm == "nnie") return rename_nnie(node);
    const QType type = qtype_of(node);
    QUENCH_CHECK(type.scheme.is_int() && type.scheme.granularity() != Granularity::kGroup, node.where(), ": '",
                 type.scheme.text(), "' has no node that vendors' tools read");
    const NodeKind kind = kind_of(spec);
    const std::string base = node.output().name();
    const auto constant = [&](const char* what, const at::Tensor& tensor) {
      return &graph_.add_constant(graph_.unique_name(concat(base, "_", what)), tensor);
    };
    std::vector<Value*> inputs = {
        node.input(0), constant("scale", at::tensor(at::ArrayRef<float>(type.params.scale))),
        constant("zero_point", at::tensor(at::ArrayRef<std::int32_t>(type.params.zero_point)))};
    if (kind.range == RangeAs::kInputs) {
      inputs.push_back(constant("quant_min", at::tensor(type.scheme.qmin(), at::kLong)));
      inputs.push_back(constant("quant_max", at::tensor(type.scheme.qmax(), at::kLong)));
    }
    node.attrs.clear();
    node.metadata.clear();
    if (kind.range == RangeAs::kAttributes) {
      node.attrs["quant_min"] = std::int64_t{type.scheme.qmin()};
      node.attrs["quant_max"] = std::int64_t{type.scheme.qmax()};
    }
    graph_.set_inputs(node, inputs);
    graph_.set_op(node, concat(kVendorDomain, ".", kind.op));
  }

  void rename_nnie(Node& node) {
    const QType type = qtype_of(node);
    Value& largest = graph_.add_constant(graph_.unique_name(node.output().name() + "_data_max"),
                                         at::tensor(at::ArrayRef<float>(type.params.scale)));
    node.attrs.clear();
    node.metadata.clear();
    graph_.set_inputs(node, {node.input(0), &largest});
    graph_.set_op(node, concat(kVendorDomain, ".NNIEQuantize"));
  }

  Graph graph_;
};

void write_nothing_more(const DeployJob&, Deployment&) {}

}  // namespace

void add_reference_model(const DeployJob& job, Deployment& deployment) {
  DeployFile file;
  file.name = job.name + ".onnx";
  file.model = ReferenceGraph(job.graph).make();
  file.opset = lowest_opset(file.model, kFirstOpset);
  file.what = concat("quantizers as nodes that vendors' tools read, opset ", file.opset);
  deployment.files.push_back(std::move(file));
}

QUENCH_REGISTER_EXPORTER("onnx", write_nothing_more, "the graph with its quantizers as nodes: N.onnx")

}  // namespace quench
