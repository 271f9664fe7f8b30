// Proves training with live BatchNormalization: after 50 steps at 4-bit weights the codes of the training grid are
// those of the folded network, all of them, and the folded network computes what the live one does.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "quench/executor.h"
#include "quench/export.h"
#include "quench/import.h"
#include "quench/observer.h"
#include "quench/pass.h"
#include "quench/prepare.h"
#include "quench/torch.h"
#include "quench/zoo_net.h"

namespace quench {
namespace {

constexpr int kSteps = 50, kBatch = 4;

at::Tensor images(int seed) {
  at::manual_seed(static_cast<std::uint64_t>(seed));
  return at::randn({kBatch, 1, 12, 12});
}

std::vector<Node*> quantizers(const Graph& graph, Role role) {
  std::vector<Node*> found;
  for (Node* node : quantizers_of(graph))
    if (fake_quant_spec(*node).role == role) found.push_back(node);
  return found;
}

// By the verbs: what the observers of the plan make of one batch; weights are those that NormWeight gives.
Graph calibrated_on(QuantizedModel model, const at::Tensor& x) {
  enable_calibration(model);
  forward(model, {RtValue(x)});
  enable_quantization(model);
  return std::move(model.graph);
}

void train(const Graph& graph) {
  std::vector<at::Tensor> parameters;
  for (const Value* parameter : graph.parameters()) parameters.push_back(parameter->tensor().requires_grad_());
  ExecOptions options;
  options.grad = options.training = true;
  Executor executor(graph, options);
  for (int step = 0; step < kSteps; ++step) {
    const at::Tensor x = images(step), wanted = at::arange(kBatch, at::kLong);
    const at::Tensor loss = at::cross_entropy_loss(executor.run({RtValue(x)})[0].tensor(), wanted);
    loss.backward();
    const c10::NoGradGuard no_grad;
    for (at::Tensor& parameter : parameters) {
      // Learned scales take smaller steps, as every recipe has it.
      parameter.sub_(parameter.grad(), parameter.dim() == 0 ? 1e-4 : 0.02);
      parameter.mutable_grad() = at::Tensor();
    }
  }
}

struct Codes {
  std::string name;
  at::Tensor codes, scale;
};

// The integers of every weight: round(w / s) as the quantizer itself has it, from what it gives.
std::vector<Codes> weight_codes(const Graph& graph) {
  std::vector<std::string> names;
  const std::vector<Node*> nodes = quantizers(graph, Role::kWeight);
  for (const Node* node : nodes) names.push_back(node->output().name());
  const NamedValues values = Executor(graph).run({}, names);
  std::vector<Codes> all;
  for (const Node* node : nodes) {
    const at::Tensor quantized = values.at(node->output().name()).tensor();
    const QParams params = qparams_of(*node);
    const at::Tensor scale = at::tensor(params.scale);
    std::vector<std::int64_t> shape(static_cast<std::size_t>(quantized.dim()), 1);
    shape[static_cast<std::size_t>(fake_quant_spec(*node).scheme.axis())] = scale.numel();
    all.push_back({node->name(), at::round(quantized / scale.reshape(shape)).to(at::kInt), scale});
  }
  return all;
}

QuantizedModel prepared(NormMode norm) {
  const auto net = make_zoo_model("small_cnn", {.seed = 3});
  QuantConfig config;
  config.weight.bits = 4;
  PrepareOptions options;
  options.norm = norm;
  return prepare_by_platform(from_module(*net, {at::zeros({2, 1, 12, 12})}), "tensorrt_qdq", config, options);
}

at::Tensor logits(const Graph& graph, const at::Tensor& x) { return Executor(graph).run({RtValue(x)})[0].tensor(); }

void expect_same_codes(const std::vector<Codes>& trained, const std::vector<Codes>& folded) {
  ASSERT_EQ(trained.size(), folded.size());
  for (std::size_t i = 0; i < trained.size(); ++i) {
    EXPECT_EQ(trained[i].name, folded[i].name);
    EXPECT_TRUE(at::equal(trained[i].scale, folded[i].scale)) << trained[i].name;
    EXPECT_TRUE(at::equal(trained[i].codes, folded[i].codes)) << trained[i].name;
    EXPECT_GT(trained[i].codes.abs().max().item<int>(), 1) << trained[i].name << " shows nothing";
  }
}

TEST(LiveNorm, TrainedCodesAreThoseOfTheFoldedNetwork) {
  Graph graph = calibrated_on(prepared(NormMode::kLive), images(1000));
  const int norms = static_cast<int>(quantizers(graph, Role::kWeight).size()) - 1;  // all but the last layer have one
  const std::vector<Codes> before = weight_codes(graph);
  train(graph);
  const std::vector<Codes> trained = weight_codes(graph);
  std::int64_t moved = 0;
  for (std::size_t i = 0; i < before.size(); ++i)
    moved += (trained[i].codes != before[i].codes).sum().item<std::int64_t>();
  EXPECT_GT(moved, 0) << "training changed no code: the test shows nothing";
  Graph folded(graph);
  EXPECT_EQ(run_passes(folded, {"fold_live_norms"})[0].changes, norms);
  expect_same_codes(trained, weight_codes(folded));
  for (const auto& node : folded.nodes()) EXPECT_NE(node->op(), "BatchNormalization");
}

// Frozen, the live network is the folded one, node by node, on the same tensors: the same bits.
TEST(LiveNorm, FrozenItComputesWhatTheFoldedNetworkDoes) {
  Graph graph = calibrated_on(prepared(NormMode::kFrozen), images(1000));
  for (const auto& node : graph.nodes()) ASSERT_NE(node->op(), "BatchNormalization");
  train(graph);
  Graph folded(graph);
  run_passes(folded, {"fold_live_norms"});
  expect_same_codes(weight_codes(graph), weight_codes(folded));
  const at::Tensor x = images(2000);
  EXPECT_TRUE(at::equal(logits(graph, x), logits(folded, x)));
}

// Live in training, frozen at the end (docs/numerics.md 8.3): the codes stay.
TEST(LiveNorm, FreezingKeepsTheCodes) {
  Graph graph = calibrated_on(prepared(NormMode::kLive), images(1000));
  train(graph);
  const std::vector<Codes> live = weight_codes(graph);
  run_passes(graph, {"freeze_norms"});
  expect_same_codes(live, weight_codes(graph));
}

// What trains goes through a file: the same bits in evaluation, the same parameters, and it still folds.
TEST(LiveNorm, LivesInFiles) {
  Graph graph = calibrated_on(prepared(NormMode::kLive), images(1000));
  Graph read = import_onnx_bytes(export_onnx_bytes(graph));
  const at::Tensor x = images(7);
  EXPECT_TRUE(at::equal(logits(read, x), logits(graph, x)));
  EXPECT_EQ(read.parameters().size(), graph.parameters().size());
  const int norms = run_passes(graph, {"fold_live_norms"})[0].changes;
  EXPECT_EQ(run_passes(read, {"fold_live_norms"})[0].changes, norms);
  expect_same_codes(weight_codes(graph), weight_codes(read));
}

// Post-training folding in double against the live form in float: the outputs of the float networks agree.
TEST(LiveNorm, WithoutQuantizingItIsTheFloatNetwork) {
  const at::Tensor x = images(7);
  const at::Tensor live = logits(prepared(NormMode::kLive).graph, x),
                   frozen = logits(prepared(NormMode::kFrozen).graph, x);
  const at::Tensor folded = logits(prepared(NormMode::kFold).graph, x);
  // 12 layers, each with an error of (n + 8) 2^-24 of its sums of magnitudes (n at most 576 products); the logits are
  // of order 1 and random signs keep sums of magnitudes within 30 of the sums: 12 * 600 * 6e-8 * 30, over which errors
  // of single products average out by more than 10.
  const double bound = 1.3e-3;
  EXPECT_LE((live - folded).abs().max().item<double>(), bound);
  EXPECT_LE((frozen - folded).abs().max().item<double>(), bound);
}

}  // namespace
}  // namespace quench
