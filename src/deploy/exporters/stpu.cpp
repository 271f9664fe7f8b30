// stpu: ranges for SenseTime's STPU; docs/platforms.md 5.8. All per tensor, symmetric, 8 bits: +-127 s.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "deploy/forms/side_file.h"
#include "ops/clamp.h"
#include "passes/rewrite.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

constexpr double kCodes = 127.0;

void check_tensor(const StrippedTensor& tensor) {
  check_per_tensor(tensor, "STPU");
  check_symmetric(tensor, "STPU");
  QUENCH_CHECK(tensor.type.scheme.is_int() && tensor.type.scheme.bits() == 8, "'", tensor.name, "' is quantized as '",
               tensor.type.scheme.text(), "'; STPU takes 8 bits");
}

// The biased exponent of a float32; 0 for 0, else 1 to 254.
int exponent_of(double v) { return v == 0.0 ? 0 : std::clamp(std::ilogb(v) + 127, 1, 254); }

bool is_conv(const Node& node) { return node.op() == "Conv" || node.op() == "ConvTranspose"; }

bool is_layer(const Node& node) { return is_conv(node) || node.op() == "Gemm"; }

class StpuRanges {
 public:
  explicit StpuRanges(const Graph& ready) : model_(strip_quantizers(ready)) {
    for (const StrippedTensor& tensor : model_.tensors) check_tensor(tensor);
    for (const StrippedTensor& tensor : model_.tensors) ranges_[tensor.name] = kCodes * tensor.type.params.scale[0];
    fold_multiplications();
    pass_concats_back();
    fix_sigmoids();
    pass_movers_back();
    pass_clamps_back();
  }

  const Graph& graph() const { return model_.graph; }
  std::vector<std::string> tensors() const {
    std::vector<std::string> names;
    for (const auto& [name, max] : ranges_) names.push_back(name);
    return names;
  }

  Json content() const {
    Json result = Json::object();
    for (const Value* input : graph().inputs()) add_range(*input, result);
    for (const auto& node : graph().nodes()) {
      add_parameters(*node, result);
      for (const Value* output : node->outputs())
        if (output) add_range(*output, result);
      add_emin(*node, result);
    }
    return result;
  }

 private:
  std::optional<double> range(const Value* value) const {
    const auto at = value ? ranges_.find(value->name()) : ranges_.end();
    return at == ranges_.end() ? std::nullopt : std::optional(at->second);
  }
  void copy_range(const Value& from, const Value& to) {
    if (const auto found = range(&from)) ranges_[to.name()] = *found;
  }

  // The Mul by one number after a convolution, if nothing else reads what lies between.
  static Node* multiplication_behind(const Node& conv) {
    Node* mul = conv.op() == "Conv" ? only_user(conv.output()) : nullptr;
    if (!mul || mul->op() != "Mul") return nullptr;
    const Value* factor = factor_of(*mul, conv);
    const bool plain = factor && factor->is_constant() && factor->tensor().numel() == 1 &&
                       factor->tensor().item<double>() != 0.0 && conv.input(1)->is_constant() &&
                       factor->tensor().dim() <= conv.input(1)->tensor().dim() &&
                       (!conv.input(2) || conv.input(2)->is_constant());
    return plain ? mul : nullptr;
  }
  static const Value* factor_of(const Node& mul, const Node& conv) {
    return mul.input(mul.input(0) == &conv.output() ? 1 : 0);
  }

  void fold_multiplications() {
    std::vector<Node*> convs;
    for (const auto& node : graph().nodes())
      if (multiplication_behind(*node)) convs.push_back(node.get());
    for (Node* conv : convs) fold(*conv, *multiplication_behind(*conv));
  }

  void fold(Node& conv, Node& mul) {
    const at::Tensor factor = factor_of(mul, conv)->tensor().reshape({});
    const double magnitude = std::abs(factor.item<double>());
    for (const int slot : {1, 2})
      if (conv.input(slot)) scale_constant(conv, slot, factor, magnitude);
    const std::optional<double> own = range(&mul.output()), before = range(&conv.output());
    const std::string name = mul.output().name();
    model_.graph.replace_uses(mul.output(), conv.output());
    model_.graph.erase(mul);
    ranges_.erase(conv.output().name());
    model_.graph.rename(conv.output(), name);
    if (!own && before) ranges_[name] = magnitude * *before;
  }

  void scale_constant(Node& conv, int slot, const at::Tensor& factor, double magnitude) {
    const Value& old = *conv.input(slot);
    const std::optional<double> before = range(&old);
    const Value& scaled = replace_constant(model_.graph, conv, slot, old.tensor() * factor, old.name() + "_scaled");
    if (before) ranges_[scaled.name()] = magnitude * *before;
  }

  void pass_concats_back() {
    const auto& nodes = graph().nodes();
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node)  // one may join what another has joined
      if ((*node)->op() == "Concat")
        for (const Value* input : (*node)->inputs()) copy_range((*node)->output(), *input);
  }

  void fix_sigmoids() {
    for (const auto& node : graph().nodes())
      if (node->op() == "Sigmoid") ranges_[node->output().name()] = 1.0;
  }

  void pass_movers_back() {
    for (const auto& [to, from] :
         ranges_found_behind(graph(), [&](const std::string& name) { return ranges_.contains(name); }))
      ranges_[to] = ranges_.at(from);
  }

  // What a Relu or Clip reads has its range: the two run as one.
  void pass_clamps_back() {
    for (const auto& node : graph().nodes())
      if (is_clamp(*node) && node->input(0)->producer()) copy_range(node->output(), *node->input(0));
  }

  static Json both_ends(double max) {
    Json range;
    range["min"] = -max;
    range["max"] = max;
    return range;
  }

  static void add_entry(Json& result, const std::string& key, Json entry) {
    QUENCH_CHECK(!result.contains(key), "'", key,
                 "' is a tensor, and the name under which STPU looks for the parameters of a layer: rename the tensor");
    result[key] = std::move(entry);
  }

  void add_range(const Value& value, Json& result) const {
    if (const auto found = range(&value)) add_entry(result, value.name(), both_ends(*found));
  }

  void add_parameters(const Node& node, Json& result) const {
    const auto weight = is_layer(node) ? range(node.input(1)) : std::nullopt;
    if (!weight) return;
    add_entry(result, node.name() + "_weights", both_ends(*weight));
    const auto x = range(node.input(0));
    if (!node.input(2) || !x) return;
    Json bias;
    bias["alpha"] = *weight / kCodes * (*x / kCodes);  // s_w s_x
    bias["zero_point"] = 0;
    add_entry(result, node.name() + "_bias", bias);
  }

  // Products that one output sums up.
  static double products_of(const Node& conv) {
    const at::Tensor& weight = conv.input(1)->tensor();
    const std::int64_t group = conv.get_int("group", 1);
    const double kernel = static_cast<double>(weight.numel() / (weight.size(0) * weight.size(1)));
    return kernel * static_cast<double>(conv.op() == "Conv" ? weight.size(1) : weight.size(0) / group);
  }

  std::optional<int> emin_of(const Node& node) const {
    const auto x = range(node.input(0)), y = range(&node.output());
    if (!y) return std::nullopt;
    if (node.op() == "Resize") return exponent_of(*y) - 20;
    const auto weight = is_layer(node) ? range(node.input(1)) : std::nullopt;
    if (!weight || !x) return std::nullopt;
    if (node.op() == "Gemm") return 128;
    return exponent_of(std::max(std::sqrt(products_of(node)) * *x * *weight, *y)) - 10;
  }

  void add_emin(const Node& node, Json& result) const {
    if (node.outputs().empty() || !node.outputs()[0]) return;
    if (const auto emin = emin_of(node)) result[node.output().name()]["emin"] = *emin;
  }

  StrippedModel model_;
  std::map<std::string, double> ranges_;  // max by tensor; min is -max
};

void write_stpu(const DeployJob& job, Deployment& deployment) {
  const StpuRanges ranges(job.graph);
  check_tensors(ranges.graph(), ranges.tensors());
  deployment.files.push_back(model_file(job, "_for_stpu.onnx", ranges.graph()));
  deployment.files.push_back(json_file(job, "_stpu_minmax.json", ranges.content(), "ranges of tensors and layers"));
}

}  // namespace

QUENCH_REGISTER_EXPORTER("stpu", write_stpu, "ranges for STPU: N_for_stpu.onnx, N_stpu_minmax.json", {},
                         IoTypes::kFloat32)

}  // namespace quench
