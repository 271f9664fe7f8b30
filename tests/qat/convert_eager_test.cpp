// PyTorch's verbs that end in integers: convert, quantize, quantize_qat, weight().
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/optim/sgd.h>

#include "qat/stubbed_net.h"
#include "quench/qat.h"
#include "support/expect_error.h"

namespace quench {
namespace {

EagerModel model_of(const std::shared_ptr<Net>& net, const QConfig& qconfig) {
  EagerModel model(net, {images(1)});
  model.qconfig.set_global(qconfig);
  return model;
}

std::vector<at::Tensor> parameters_of(const Net& net) {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& parameter : net.parameters()) copies.push_back(parameter.detach().clone());
  return copies;
}

TEST(ConvertEager, APreparedModelIsFinishedFirst) {
  const auto net = make_net();
  net->eval();
  PreparedModel prepared = prepare(net, {images(1)}, get_default_qconfig("fbgemm"));
  prepared.forward(images(8));
  QuantizedModel integers = convert(prepared);
  EXPECT_TRUE(prepared.finished());
  EXPECT_EQ(integers.stage, ModelStage::kConverted);
  EXPECT_EQ(integers.run({images(3)})[0].tensor().sizes(), at::IntArrayRef({3, 5}));
  EXPECT_NE(
      print_converted(integers).find("(conv): QuantizedConvReLU2d(2, 4, kernel_size=(3, 3), stride=(1, 1), scale="),
      std::string::npos)
      << print_converted(integers);
}

// torch says how much on each side; where the sides differ there is no such module.
TEST(ConvertEager, PaddingIsPrintedOnce) {
  const auto net = make_net();
  net->eval();
  PreparedModel prepared = prepare(net, {images(1)}, get_default_qconfig("fbgemm"));
  prepared.forward(images(8));
  QuantizedModel integers = convert(prepared);
  EXPECT_NE(print_converted(integers).find(", padding=(1, 1), "), std::string::npos) << print_converted(integers);
  for (const auto& node : integers.graph.nodes())
    if (node->has("pads")) node->attrs["pads"] = std::vector<std::int64_t>{0, 1, 2, 1};
  EXPECT_NE(print_converted(integers).find(", padding=(0, 1, 2, 1), "), std::string::npos);
}

TEST(ConvertEager, WeightsHaveOneByte) {
  const auto net = make_net();
  net->eval();
  PreparedModel prepared = prepare(net, {images(1)}, get_default_qconfig("fbgemm"));
  prepared.forward(images(8));
  const QuantizedModel integers = convert(prepared);
  const ConvertedWeight fc = weight(integers, "fc");
  EXPECT_EQ(fc.scalar_type(), at::kChar);
  EXPECT_EQ(fc.dtype(), at::kChar);
  EXPECT_EQ(fc.element_size(), 1);
  EXPECT_EQ(fc.params.scale.size(), 5U);
  // Half a step is the most that rounding moves a weight.
  const at::Tensor half = at::tensor(fc.params.scale).reshape({5, 1}) / 2 * (1 + 1e-5);
  const at::Tensor original = fc.codes.size(0) == 5 ? net->fc->weight.detach() : net->fc->weight.detach().t();
  EXPECT_TRUE(((fc.dequantize() - original).abs() <= half).all().item<bool>());
  EXPECT_ERROR(weight(integers, "fd"), "there is no layer 'fd' with a weight in integers; did you mean 'fc'?");
  EXPECT_ERROR(weight(prepared.model(), "fc"), "the model is calibrated, not converted");
}

TEST(ConvertEager, QuantizeTakesAModuleInAnyModeAndGivesItBackSo) {
  const auto net = make_net();
  int batches = 0;
  const QuantizedModel integers = quantize(model_of(net, get_default_qconfig("fbgemm")), [&](PreparedModel& model) {
    for (; batches < 3; ++batches) model.forward(images(4));
  });
  EXPECT_EQ(batches, 3);
  EXPECT_EQ(integers.stage, ModelStage::kConverted);
  EXPECT_TRUE(net->is_training());
  EXPECT_TRUE(net->bn->is_training());
  EXPECT_ERROR(quantize(model_of(net, get_default_qconfig("fbgemm")), [](PreparedModel&) {}),
               "nothing was observed for");
}

TEST(ConvertEager, QuantizeQatLeavesAloneWhatWasFrozen) {
  const auto net = make_net();
  net->fc->weight.set_requires_grad(false);
  quantize_qat(model_of(net, get_default_qat_qconfig("qnnpack")), [&](QatModule& q) {
    EXPECT_FALSE(q.named_parameters()["fc.weight"].requires_grad());
    EXPECT_TRUE(q.named_parameters()["fc.bias"].requires_grad());
    EXPECT_TRUE(q.named_parameters()["conv.weight"].requires_grad());
    q.forward(images(8));
  });
  EXPECT_TRUE(net->fc->bias.requires_grad());
}

TEST(ConvertEager, QuantizeQatTrainsACopy) {
  const auto net = make_net();
  net->eval();
  const std::vector<at::Tensor> before = parameters_of(*net);
  at::Tensor trained;
  const QuantizedModel integers = quantize_qat(model_of(net, get_default_qat_qconfig("qnnpack")), [&](QatModule& q) {
    torch::optim::SGD optimizer(q.parameters(), 0.1);
    for (int i = 0; i < 3; ++i) step(q, optimizer, images(8));
    trained = q.named_parameters()["fc.weight"].detach().clone();
  });
  EXPECT_EQ(integers.stage, ModelStage::kConverted);
  const std::vector<at::Tensor> after = parameters_of(*net);
  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_TRUE(at::equal(after[i], before[i])) << i;
  EXPECT_FALSE(at::equal(trained, net->fc->weight.detach()));
  EXPECT_FALSE(net->is_training());
  const ConvertedWeight fc = weight(integers, "fc");
  EXPECT_EQ(fc.params.scale.size(), 1U);  // qnnpack: per tensor
  EXPECT_ERROR(quantize_qat(model_of(net, get_default_qat_qconfig("fbgemm")), [](QatModule&) {}),
               "the quantizers have no scales yet");
}

}  // namespace
}  // namespace quench
