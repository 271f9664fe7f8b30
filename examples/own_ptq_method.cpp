// A post-training method of your own in one file (MQBench's "Develop PTQ"): for each layer you get what enters it in
// the quantized network and what leaves it in the float one; the rounding of its weight learns with LibTorch's Adam.
//   example_own_ptq_method MODEL DATA
#include <ATen/ATen.h>
#include <torch/optim/adam.h>

#include "quench/calibrate.h"
#include "quench/error.h"
#include "quench/import.h"
#include "quench/prepare.h"
#include "quench/ptq_method.h"

using namespace quench;

namespace {

// A weight that is rounded softly: floor(w / s) + h with h between 0 and 1, which begins at the weight itself.
struct SoftWeight {
  explicit SoftWeight(const Node& node) : quantizer(&node) {
    const at::Tensor weight = node.input(0)->tensor();
    const int rank = static_cast<int>(weight.dim()), axis = fake_quant_spec(node).scheme.axis_of(rank);
    scale = fake_quant_tensors(node).scale().detach().flatten();  // one per output channel, which `axis` counts
    for (int behind = axis + 1; behind < rank; ++behind) scale = scale.unsqueeze(-1);
    down = at::floor(weight / scale);
    alpha = at::logit((weight / scale - down).clamp(0.01, 0.99)).requires_grad_();
  }
  at::Tensor h() const { return at::sigmoid(alpha); }
  at::Tensor soft() const { return (down + h()) * scale; }
  at::Tensor hard() const { return (down + (alpha > 0)) * scale; }  // commit() clamps to the grid
  const Node* quantizer;
  at::Tensor scale, down, alpha;
};

void learn(UnitWork& work, UnitRecord& record) {
  std::vector<SoftWeight> weights;
  std::vector<at::Tensor> alphas;
  for (const Node* quantizer : work.weights()) alphas.push_back(weights.emplace_back(*quantizer).alpha);
  if (weights.empty()) return;
  torch::optim::Adam adam(alphas, torch::optim::AdamOptions(work.options().number("rate")));
  const auto steps = static_cast<std::int64_t>(work.options().number("steps"));
  for (std::int64_t step = 0; step < steps; ++step, ++record.iterations) {
    const at::Tensor rows = work.draw(step);
    for (const SoftWeight& weight : weights) work.replace(weight.quantizer->output(), weight.soft());
    at::Tensor loss = (work.run(work.quantized_inputs(rows), 0) - work.target(rows)).square().sum(1).mean();
    for (const SoftWeight& weight : weights)  // in the second half, every h is driven to 0 or 1
      if (2 * step > steps) loss = loss + 0.01 * (1 - (2 * weight.h() - 1).square()).sum();
    adam.zero_grad();
    loss.backward();
    adam.step();
  }
  for (const SoftWeight& weight : weights) work.commit(*weight.quantizer->input(0), weight.hard());
}

QUENCH_REGISTER_PTQ_METHOD("own", learn, "rounding by a plain sigmoid",
                           {{"steps", 200.0, "per layer"}, {"rate", 0.02, "of Adam"}}, "layer")

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) throw Error("example_own_ptq_method MODEL DATA");
  QuantConfig config;
  config.weight.bits = 4;
  QuantizedModel model = prepare_by_platform(import_model(argv[1]), "onnxruntime", config);
  const auto data = open_dataset(argv[2], model.graph);
  calibrate(model, *data);
  const auto output = [&](const Graph& graph) {
    return save_values(graph, *data, {graph.outputs()[0]->name()}).begin()->second;
  };
  const at::Tensor wanted = output(without_quantizers(model.graph)), nearest = output(model.graph);
  for (const UnitRecord& unit : reconstruct(model, *data, {.method = "own"}).units)
    std::printf("%-20s error %.5f, learned %.5f\n", unit.name.c_str(), unit.error_before, unit.error_after);
  const double before = (nearest - wanted).square().mean().item<double>(),
               after = (output(model.graph) - wanted).square().mean().item<double>();
  std::printf("the network's output: error %.5f, learned %.5f\n", before, after);
  return after < 0.7 * before ? 0 : 3;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
