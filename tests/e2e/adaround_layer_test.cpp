// AdaRound on one trained convolution of the embedded model, 4-bit weights: the error of its output falls by at
// least 30 % below that of nearest rounding, and every hard code is the floor or the ceil of w/s.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "e2e/demo_model.h"
#include "fake_quant/adaround.h"
#include "quench/quantizer.h"

namespace quench {
namespace {

constexpr int kSteps = 600;

FakeQuantSpec spec(const char* mode) {
  FakeQuantSpec result;
  result.algorithm = "adaround";
  result.scheme = QScheme::parse("int4 symmetric channel:0");
  result.role = Role::kWeight;
  result.options = Options({{"mode", mode}});
  return result;
}

// AdaRound's loss: the squared error of the layer, and from a fifth of the way on its regulariser.
void learn_rounding(Quantizer& soft, const at::Tensor& weight, const at::Tensor& in, const at::Tensor& out) {
  const at::Tensor alpha = soft.parameters().at("alpha");
  at::Tensor first = at::zeros_like(alpha.detach()), second = at::zeros_like(first);
  for (int step = 0; step < kSteps; ++step) {
    const at::Tensor part = in.narrow(0, step * 25 % in.size(0), 25),
                     wanted = out.narrow(0, step * 25 % in.size(0), 25);
    at::Tensor loss = (at::conv2d(part, soft(weight), {}, 1, 1) - wanted).square().sum(1).mean();
    const double begin = 0.2 * kSteps;
    if (step >= begin) {
      const double beta = 2 + 18 * std::max(0.0, 1 - (step - begin) / (kSteps - begin));
      const at::Tensor h = (at::sigmoid(alpha) * 1.2 - 0.1).clamp(0, 1);
      loss = loss + 0.01 * (1 - (2 * h - 1).abs().pow(beta)).sum();
    }
    loss.backward();
    const at::Tensor gradient = alpha.grad();
    first.mul_(0.9).add_(gradient, 0.1);
    second.mul_(0.999).addcmul_(gradient, gradient, 0.001);
    const at::Tensor denominator = (second / (1 - std::pow(0.999, step + 1))).sqrt_().add_(1e-8);
    alpha.detach().addcdiv_(first, denominator, -1e-2 / (1 - std::pow(0.9, step + 1)));
    alpha.mutable_grad() = at::Tensor();
  }
}

TEST(AdaRoundLayer, BeatsNearestRounding) {
  const Graph graph = demo_graph();
  const Node& conv = *graph.find_node("block1.conv2");
  const at::Tensor weight = conv.input(1)->tensor().detach();
  Executor executor(graph);
  const auto inputs_for = [&](const Images& images) {
    return executor.run({{"input", RtValue(images.pixels)}}, {conv.input(0)->name()})
        .at(conv.input(0)->name())
        .tensor();
  };
  const at::Tensor in = inputs_for(demo_images(0, 500)), judge = inputs_for(demo_images(500, 200));
  const auto error = [&](const at::Tensor& rounded) {
    return (at::conv2d(judge, rounded.detach() - weight, {}, 1, 1)).square().mean().item<double>();
  };

  Quantizer nearest(spec("nearest"), weight.sizes().vec(), make_observer("mse", spec("nearest").scheme));
  nearest.flags.observe = true;
  nearest(weight);
  nearest.calibrated();
  nearest.flags = {.quantize = true};
  auto state = nearest.state();
  const QScheme scheme = spec("soft").scheme;
  state["alpha"] = adaround_initial(weight, {nearest.tensors().scale(), nearest.tensors().zero_point(), scheme});
  Quantizer soft(spec("soft"), weight.sizes().vec(), make_observer("mse", scheme));
  soft.load(state);
  learn_rounding(soft, weight, in, at::conv2d(in, weight, {}, 1, 1));
  Quantizer hard(spec("hard"), weight.sizes().vec(), make_observer("mse", scheme));
  hard.load(soft.state());

  const double plain = error(nearest(weight)), learned = error(hard(weight));
  std::cout << "output error: nearest " << plain << ", AdaRound " << learned << " (" << 100 * (1 - learned / plain)
            << " % less)\n";
  EXPECT_LE(learned, 0.7 * plain);
  const at::Tensor inverse = (1 / hard.tensors().scale().detach()).reshape({-1, 1, 1, 1});
  const at::Tensor codes = at::round(hard(weight) * inverse), below = at::floor(weight * inverse);
  const at::Tensor up = (soft.parameters().at("alpha") >= 0).to(at::kFloat);
  EXPECT_TRUE(at::equal(codes, (below + up).clamp(-8, 7)));
}

}  // namespace
}  // namespace quench
