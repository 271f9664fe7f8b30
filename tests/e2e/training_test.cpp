// Proves the core in training: a graph traced from a module trains like the module, bit for bit.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "graph/tensor_types.h"
#include "quench/executor.h"
#include "quench/torch.h"
#include "quench/zoo_net.h"

namespace quench {
namespace {

constexpr int kSteps = 20;

std::shared_ptr<ZooNet> make_resnet20() { return make_zoo_model("resnet20_cifar", {.seed = 5}); }

Graph trace(ZooNet& net) { return from_module(net, {at::zeros({2, 3, 32, 32})}); }

at::Tensor images(int batch, int seed) {
  at::manual_seed(static_cast<std::uint64_t>(seed));
  return at::randn({batch, 3, 32, 32});
}
at::Tensor labels(int batch, int seed) {
  at::manual_seed(static_cast<std::uint64_t>(seed) + 1000);
  return at::randint(0, 10, {batch}, at::kLong);
}

// SGD with momentum, plainly.
class Sgd {
 public:
  explicit Sgd(std::vector<at::Tensor> parameters) : parameters_(std::move(parameters)) {
    for (const at::Tensor& parameter : parameters_) momentum_.push_back(at::zeros_like(parameter));
  }
  void step(const at::Tensor& loss) {
    for (at::Tensor& parameter : parameters_) parameter.mutable_grad() = at::Tensor();
    loss.backward();
    const c10::AutoGradMode no_grad(false);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      momentum_[i].mul_(0.9).add_(parameters_[i].grad());
      parameters_[i].sub_(momentum_[i], 0.05);
    }
  }

 private:
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> momentum_;
};

void expect_same_state(const ZooNet& a, const ZooNet& b) {
  const auto compare = [](const auto& left, const auto& right) {
    ASSERT_EQ(left.size(), right.size());
    for (const auto& item : left) {
      const at::Tensor* other = right.find(item.key());
      ASSERT_TRUE(other) << item.key();
      EXPECT_TRUE(bit_equal(item.value(), *other)) << item.key();
    }
  };
  compare(a.named_parameters(), b.named_parameters());
  compare(a.named_buffers(), b.named_buffers());
}

// Batch 8 was never traced (2 and its double 4 were).
TEST(Training, ThroughTheGraphEqualsTheModuleBitForBit) {
  auto by_module = make_resnet20(), by_graph = make_resnet20();
  const Graph graph = trace(*by_graph);
  Executor executor(graph, {.training = true, .grad = true});
  by_module->train();
  Sgd module_optimizer(by_module->parameters()), graph_optimizer(by_graph->parameters());
  for (int step = 0; step < kSteps; ++step) {
    const at::Tensor x = images(8, step), y = labels(8, step);
    const at::Tensor module_loss = at::cross_entropy_loss(by_module->forward(x), y);
    const at::Tensor graph_loss = at::cross_entropy_loss(executor.run({RtValue(x)})[0].tensor(), y);
    ASSERT_TRUE(bit_equal(module_loss, graph_loss)) << "at step " << step;
    module_optimizer.step(module_loss);
    graph_optimizer.step(graph_loss);
  }
  expect_same_state(*by_module, *by_graph);
}

// The output of the last block of the second stage: the value that the third stage's first Conv reads.
const Value& middle_value(const Graph& graph) {
  const Node* conv = graph.find_node("layer3.0.conv1");
  EXPECT_TRUE(conv) << graph;
  return *conv->input(0);
}

TEST(Training, InTwoPartsEqualsTheWholeGradientsToo) {
  for (const int batch : {4, 7}) {
    auto net = make_resnet20();
    const Graph graph = trace(*net);
    const std::string middle = middle_value(graph).name(), input = graph.inputs()[0]->name(),
                      output = graph.outputs()[0]->name();
    Executor executor(graph, {.grad = true});
    const at::Tensor x = images(batch, 1), y = labels(batch, 1);
    const auto gradients_of = [&](const at::Tensor& logits) {
      for (at::Tensor parameter : net->parameters()) parameter.mutable_grad() = at::Tensor();
      at::cross_entropy_loss(logits, y).backward();
      std::vector<at::Tensor> gradients;
      for (const at::Tensor& parameter : net->parameters()) gradients.push_back(parameter.grad().clone());
      return gradients;
    };
    const at::Tensor whole = executor.run({RtValue(x)})[0].tensor();
    const std::vector<at::Tensor> whole_gradients = gradients_of(whole);
    const RtValue half = executor.run({{input, x}}, {middle}).at(middle);
    const at::Tensor parts = executor.run({{middle, half}}, {output}).at(output).tensor();
    EXPECT_TRUE(bit_equal(whole, parts));
    const std::vector<at::Tensor> part_gradients = gradients_of(parts);
    for (std::size_t i = 0; i < part_gradients.size(); ++i)
      EXPECT_TRUE(bit_equal(whole_gradients[i], part_gradients[i])) << "parameter " << i;
  }
}

TEST(Training, AGradientHookSeesWhatAutogradGivesOnTheModule) {
  auto net = make_resnet20();
  const Graph graph = trace(*net);
  const at::Tensor x = images(4, 2), y = labels(4, 2);
  net->eval();
  const auto part = [&](const char* name) { return std::dynamic_pointer_cast<ZooNet>(net->named_children()[name]); };
  Executor executor(graph, {.grad = true});
  at::Tensor seen, middle;
  const std::string name = middle_value(graph).name();
  executor.on_value(name, [&](const Value&, RtValue& value) {
    middle = value.tensor().detach();
    return Next::kContinue;
  });
  executor.on_gradient(name, [&](const Value&, at::Tensor& gradient) { seen = gradient.clone(); });
  const at::Tensor logits = executor.run({RtValue(x)})[0].tensor();
  at::cross_entropy_loss(logits, y).backward();

  // The module by its own parts, from the same middle value on.
  at::Tensor leaf = middle.detach().clone().requires_grad_();
  at::Tensor rest = part("layer3")->forward(leaf);
  rest = at::flatten(at::adaptive_avg_pool2d(rest, {1, 1}), 1);
  const auto named = net->named_parameters();
  rest = at::linear(rest, named["linear.weight"], named["linear.bias"]);
  EXPECT_TRUE(bit_equal(rest, logits));
  at::cross_entropy_loss(rest, y).backward();
  ASSERT_TRUE(seen.defined());
  EXPECT_TRUE(bit_equal(seen, leaf.grad()));
}

TEST(Training, AReplacedGradientReachesTheLayersBefore) {
  auto net = make_resnet20();
  const Graph graph = trace(*net);
  Executor executor(graph, {.grad = true});
  executor.on_gradient(middle_value(graph).name(), [](const Value&, at::Tensor& gradient) { gradient = gradient * 0; });
  at::cross_entropy_loss(executor.run({RtValue(images(4, 3))})[0].tensor(), labels(4, 3)).backward();
  const auto named = net->named_parameters();
  EXPECT_EQ(named["conv1.weight"].grad().abs().max().item<float>(), 0.0F);
  EXPECT_GT(named["layer3.0.conv1.weight"].grad().abs().max().item<float>(), 0.0F);
}

}  // namespace
}  // namespace quench
