#include "deploy/forms/reference_nodes.h"

#include <ATen/ATen.h>

#include "convert/quantized.h"
#include "deploy/file_endings.h"
#include "deploy/forms/strip.h"
#include "deploy/onnx/graph.h"
#include "deploy/onnx/lowest_opset.h"
#include "quant/code_tensor.h"
#include "quantized/own_tensor.h"
#include "quench/error.h"
#include "quench/platform.h"
#include "quench/quantized_model.h"
#include "quench/vendor_node.h"

namespace quench {
namespace {

constexpr std::int64_t kFirstOpset = 11;

const VendorOp& vendor_op(const FakeQuantSpec& spec) {
  const VendorNodeRegistry& known = VendorNodeRegistry::instance();
  const VendorNode* node = known.find(spec.algorithm);
  if (!node) node = &known.get("fixed");
  return spec.scheme.per_tensor() ? node->per_tensor : node->per_channel;
}

class ReferenceGraph {
 public:
  explicit ReferenceGraph(const Graph& ready) : graph_(ready) {}

  Graph make() && {
    const std::map<std::string, at::Tensor> baked = baked_constants(graph_);
    QuantizeBy by = QuantizeBy::kReciprocal;  // of activations; weights lie on their grids
    for (Node* node : bias_quantizers_of(graph_)) replace_by_baked(graph_, *node, baked.at(node->output().name()));
    for (Node* node : quantizers_of(graph_)) {
      if (node->input(0)->is_constant()) bake_source(graph_, *node, baked.at(node->output().name()));
      by = fake_quant_spec(*node).by;
      rename(*node);
    }
    drop_plan_text(graph_);
    graph_.metadata["quench.quantize_by"] = name_of(by);
    return std::move(graph_);
  }

 private:
  void rename(Node& node) {
    const FakeQuantSpec spec = fake_quant_spec(node);
    const QType type = qtype_of(node);
    const VendorOp& op = vendor_op(spec);
    const bool has_grid = type.scheme.is_int() && type.scheme.granularity() != Granularity::kGroup;
    QUENCH_CHECK(!op.op.empty() && (has_grid || op.layout == VendorLayout::kMagnitude), node.where(), ": '",
                 type.scheme.text(), "' has no node that vendors' tools read");
    const std::map<std::string, Attr> attributes = code_attributes(node, type, op);
    const std::vector<Value*> before = node.inputs();
    graph_.set_inputs(node, inputs_of(node, type, op));
    for (std::size_t slot = 1; slot < before.size(); ++slot)
      if (before[slot]->uses().empty()) graph_.erase(*before[slot]);  // others may share it
    node.attrs.clear();
    node.metadata.clear();
    for (const auto& [name, value] : attributes) node.attrs[name] = value;
    const Options options = spec.options.checked(FakeQuantRegistry::instance().get(spec.algorithm).options, "");
    for (const std::string& name : op.options) node.attrs[name] = options.number(name);
    graph_.set_op(node, concat(kVendorDomain, ".", op.op));
  }

  static std::map<std::string, Attr> code_attributes(const Node& node, const QType& type, const VendorOp& op) {
    if (op.layout == VendorLayout::kCodesAsAttributes)
      return {{"quant_min", std::int64_t{type.scheme.qmin()}}, {"quant_max", std::int64_t{type.scheme.qmax()}}};
    if (op.layout != VendorLayout::kLearnedCodes) return {};
    return {{"quant_min", learned_code(node, type.scheme, "quant_min")},
            {"quant_max", learned_code(node, type.scheme, "quant_max")},
            {"scheme", type.scheme.text()}};
  }

  static std::int64_t learned_code(const Node& node, const QScheme& scheme, const std::string& name) {
    return nearest_codes(own_tensor(node, name).detach(), {}, code_range(scheme)).item<std::int64_t>();
  }

  std::vector<Value*> inputs_of(const Node& node, const QType& type, const VendorOp& op) {
    const auto constant = [&](const char* what, const at::Tensor& tensor) {
      return &graph_.add_constant(graph_.unique_name(concat(node.output().name(), "_", what)), tensor);
    };
    const at::Tensor scale = at::tensor(at::ArrayRef<float>(type.params.scale));
    if (op.layout == VendorLayout::kMagnitude) return {node.input(0), constant("data_max", scale)};
    std::vector<Value*> inputs = {
        node.input(0), constant("scale", scale),
        constant("zero_point", at::tensor(at::ArrayRef<std::int32_t>(type.params.zero_point)))};
    if (op.layout != VendorLayout::kCodesAsInputs) return inputs;
    if (!type.scheme.per_tensor()) inputs.push_back(constant("axis", at::tensor(axis_of(node, type), at::kLong)));
    inputs.push_back(constant("quant_min", at::tensor(type.scheme.qmin(), at::kLong)));
    inputs.push_back(constant("quant_max", at::tensor(type.scheme.qmax(), at::kLong)));
    return inputs;
  }

  static int axis_of(const Node& node, const QType& type) {
    return node.input(0)->has_rank() ? type.scheme.axis_of(node.input(0)->rank()) : type.scheme.axis();
  }

  Graph graph_;
};

// Where every scheme is the user's, no runtime is waiting for the result.
void write_nothing_more(const DeployJob& job, Deployment& deployment) {
  if (find_platform(job.platform).user_schemes)
    deployment.notes.push_back(concat("platform '", job.platform,
                                      "' is for research, and no runtime takes its file: deploy for a target that can "
                                      "run the plan (DeployOptions::platform)"));
  else
    deployment.files[0].use = FileUse::kShip;
}

}  // namespace

void add_reference_model(const DeployJob& job, Deployment& deployment) {
  DeployFile file;
  file.name = job.name + kQuantizersEnding;
  file.model = ReferenceGraph(job.graph).make();
  file.opset = lowest_opset(file.model, kFirstOpset);
  file.what = concat("quantizers as nodes that vendors' tools read, opset ", file.opset);
  file.use = FileUse::kReference;
  deployment.files.push_back(std::move(file));
}

QUENCH_REGISTER_EXPORTER("onnx", write_nothing_more, "the graph with its quantizers as nodes: N_quantizers.onnx")

}  // namespace quench
