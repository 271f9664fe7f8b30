// A custom post-training method, using only the public headers: AdaRound on one block of a network, the recipe of
// MQBench's "Develop PTQ": a fake quantizer, the tensors that enter and leave the block, a loss.
//   example_own_ptq_method MODEL DATA FIRST LAST     (the values that the block begins and ends with)
#include <ATen/ATen.h>
#include <torch/optim/adam.h>

#include "quench/calibrate.h"
#include "quench/evaluate.h"
#include "quench/executor.h"
#include "quench/import.h"
#include "quench/prepare.h"

using namespace quench;

// The quantizers of the weights in the block.
std::vector<Node*> weights_of(Graph& graph, const std::string& first, const std::string& last) {
  std::vector<Node*> found;
  bool inside = false;
  for (const auto& node : graph.nodes()) {
    Node* quantizer = inside && node->input(1) ? node->input(1)->producer() : nullptr;
    if (quantizer && quantizer->get_string("role", "") == "weight") found.push_back(quantizer);
    inside = (inside || node->output().name() == first) && node->output().name() != last;
  }
  return found;
}

// alpha so that soft rounding begins at the weight itself: h(alpha) = w/s - floor(w/s).
at::Tensor initial_alpha(const Node& node) {
  const at::Tensor w = node.input(0)->tensor().detach(), s = node.input(1)->tensor().detach().reshape({-1, 1, 1, 1});
  return -at::log(1.2 / (w / s - at::floor(w / s) + 0.1) - 1);
}

int main(int argc, char** argv) {
  if (argc != 5) return 1;
  const std::string first = argv[3], last = argv[4];
  QuantConfig config;
  config.weight.bits = 4;
  config.weight.observer = "mse";
  config.weight.fake_quant = "adaround";
  QuantizedModel model = prepare_by_platform(import_model(argv[1]), "onnxruntime", config);
  Graph& graph = model.graph;
  const auto data = open_dataset(argv[2], graph);
  calibrate(model, *data);
  Graph plain(graph);
  set_state(plain, std::nullopt, {});

  // What enters the block in the quantized network, and what leaves it in the float one.
  const Batch batch = *Loader(*data, {.batch_size = data->size()}).next();
  const NamedValues image = bind_inputs(graph, batch);
  const at::Tensor enters = Executor(graph).run(image, {first}).at(first).tensor();
  const at::Tensor wanted = Executor(plain).run(image, {last}).at(last).tensor();
  Executor block(graph, {.grad = true});
  const auto output = [&](const at::Tensor& x) { return block.run({{first, RtValue(x)}}, {last}).at(last).tensor(); };
  const auto error = [&] { return (output(enters) - wanted).square().mean().item<double>(); };
  const double nearest = error();

  const std::vector<Node*> quantizers = weights_of(graph, first, last);
  std::vector<at::Tensor> alphas;
  for (Node* node : quantizers) {
    alphas.push_back(node->input(3)->tensor());
    alphas.back().detach().copy_(initial_alpha(*node));
    node->attrs["mode"] = std::string("soft");
  }
  torch::optim::Adam adam(alphas, torch::optim::AdamOptions(1e-2));
  for (int step = 0; step < 400; ++step) {
    const std::int64_t begin = step * 32 % (enters.size(0) - 31);
    at::Tensor loss = (output(enters.narrow(0, begin, 32)) - wanted.narrow(0, begin, 32)).square().sum(1).mean();
    for (const at::Tensor& alpha : alphas) {
      const at::Tensor h = (1.2 * alpha.sigmoid() - 0.1).clamp(0, 1);
      loss = loss + 0.01 * (1 - (2 * h - 1).abs().pow(20 - 18 * step / 400.0)).sum();
    }
    adam.zero_grad();
    loss.backward();
    adam.step();
  }
  for (Node* node : quantizers) node->attrs["mode"] = std::string("hard");
  const double learned = error();
  std::printf("%zu weights, output error: nearest %.6f, AdaRound %.6f\n", alphas.size(), nearest, learned);
  return learned < 0.7 * nearest ? 0 : 3;
}
