// Training steps that are captured on a GPU are those that are not.
#include "qat/train_step.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "qat/quarters_net.h"
#include "support/expect_error.h"

namespace quench {
namespace {

#define NEEDS_CUDA() \
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device"

struct Trained {
  std::vector<double> losses;
  TensorMap state;
  bool captured = false;
  std::string note;
};

TrainOptions on_cuda(const std::string& optimizer) {
  TrainOptions options = quick();
  options.device = "cuda";
  options.optimizer.name = optimizer;
  options.optimizer.lr = 0.002;
  options.ema = 0.9;
  options.clip_norm = 1.0;
  return options;
}

// PACT is for activations alone.
QuantizedModel model_with(const std::string& fake_quant) {
  if (fake_quant != "pact") return calibrated(fake_quant);
  QuantConfig config;
  config.platform = "academic";
  config.weight.bits = config.activation.bits = 4;
  config.weight.fake_quant = "lsq";
  config.activation.fake_quant = "pact";
  config.activation.symmetric = true;
  config.activation.is_signed = false;
  config.weight.observer = config.activation.observer = "min_max";
  QuantizedModel model = prepare(net(), config, live());
  calibrate(model, items());
  return model;
}

// Twelve steps; the norms are frozen in between.
Trained trained(const std::string& fake_quant, const TrainOptions& options, bool capture) {
  at::globalContext().setDeterministicCuDNN(true);
  QuantizedModel model = model_with(fake_quant);
  const Graph teacher = net();
  TrainingGraph graph(model, "cuda");
  Optimizer optimizer(graph.parameters(), options.optimizer);
  WeightAverage average(graph.parameters(), options.ema);
  TrainTogether together(nullptr, graph);
  TrainStep step({graph, optimizer, average, together}, items(), options, &teacher, capture);
  Loader loader(items(), {.batch_size = 16});
  Trained result;
  for (int i = 0; i < 12; ++i) {
    if (i == 6) {
      EXPECT_EQ(step.is_captured(), capture && step.note().empty());
      graph.freeze_norms();
    }
    step.run(*loader.next(), {i, 12, 1.0 - 0.05 * i});
  }
  result.losses = step.losses();
  result.captured = step.is_captured();
  result.note = step.note();
  for (const auto& [name, tensor] : graph.state()) result.state.emplace(name, tensor.detach().cpu().clone());
  return result;
}

void expect_same(const std::string& fake_quant, const TrainOptions& options) {
  const Trained captured = trained(fake_quant, options, true), plain = trained(fake_quant, options, false);
  EXPECT_TRUE(captured.captured) << fake_quant << captured.note;
  EXPECT_TRUE(captured.note.empty());
  EXPECT_FALSE(plain.captured);
  ASSERT_EQ(captured.losses.size(), 12U);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(captured.losses[i], plain.losses[i], 1e-5) << fake_quant << i;
  EXPECT_NE(captured.losses[10], captured.losses[11]);
  for (const auto& [name, tensor] : captured.state)
    EXPECT_TRUE(at::allclose(tensor, plain.state.at(name), 1e-4, 1e-6)) << fake_quant << " " << name;
}

TEST(TrainStepOnCuda, CapturedIsTheSame) {
  NEEDS_CUDA();
  for (const char* optimizer : {"sgd", "adam", "adamw"}) expect_same("lsq", on_cuda(optimizer));
  for (const char* fake_quant : {"fixed", "dsq", "pact"}) expect_same(fake_quant, on_cuda("sgd"));
}

TEST(TrainStepOnCuda, TeachersAndBfloat16AreCapturedToo) {
  NEEDS_CUDA();
  TrainOptions options = on_cuda("sgd");
  options.distill.weight = 0.5;
  options.bf16 = true;
  expect_same("lsq", options);
}

TEST(TrainStepOnCuda, TrainsLikeTheCpu) {
  NEEDS_CUDA();
  at::globalContext().setAllowTF32CuDNN(false);
  TrainOptions options = quick();
  options.log_every = 3;
  QuantizedModel here = calibrated(), there = calibrated();
  const TrainRecord expected = train(here, {items(), &others()}, options);
  options.device = "cuda";
  const TrainRecord record = train(there, {items(), &others()}, options);
  at::globalContext().setAllowTF32CuDNN(true);
  EXPECT_EQ(record.notes, std::vector<std::string>());
  EXPECT_EQ(record.steps, expected.steps);
  // Sums in another order move some codes, and training on.
  EXPECT_NEAR(record.epochs[0].loss, expected.epochs[0].loss, 0.1 * expected.epochs[0].loss);
  EXPECT_NEAR(*record.epochs.back().quantized, *expected.epochs.back().quantized, 0.1);
}

TEST(TrainStepOnCuda, NamesTheStepWhoseLossIsNotFinite) {
  NEEDS_CUDA();
  QuantizedModel model = calibrated();
  TrainOptions options = quick();
  options.device = "cuda";
  options.optimizer.lr = 1e30;
  EXPECT_ERROR(train(model, {items()}, options), "the loss is");
}

}  // namespace
}  // namespace quench
