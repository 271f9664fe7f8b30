#include "qat/prepared_text.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <sstream>

#include "qat/stubbed_net.h"

namespace quench {
namespace {

std::string printed(const QatModule& module) {
  std::ostringstream stream;
  stream << module;
  return stream.str();
}

TEST(PreparedText, ReadsAsPyTorchs) {
  const auto net = make_net();
  EagerModel model(net, {images(1)});
  model.qconfig.set_global(get_default_qat_qconfig("fbgemm"));
  const auto q = prepare_qat(fuse_modules_qat(model, {{"conv", "bn", "relu"}}));
  const std::string quint =
      "uint7 affine tensor, quant_min=0, quant_max=127, observer=ema_min_max, scale=1, zero_point=0";
  const std::string qint = "int8 symmetric channel:0, quant_min=-128, quant_max=127, observer=ema_min_max";
  EXPECT_EQ(printed(*q),
            "Net(\n"
            "  (quant): QuantStub(\n"
            "    (activation_post_process): FakeQuantize(" +
                quint +
                ")\n"
                "  )\n"
                "  (conv): ConvBnReLU2d(\n"
                "    2, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1)\n"
                "    (bn): BatchNorm2d(4, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)\n"
                "    (weight_fake_quant): FakeQuantize(" +
                qint +
                ")\n"
                "    (activation_post_process): FakeQuantize(" +
                quint +
                ")\n"
                "  )\n"
                "  (bn): Identity()\n"
                "  (relu): Identity()\n"
                "  (fc): Linear(\n"
                "    in_features=64, out_features=5, bias=True\n"
                "    (weight_fake_quant): FakeQuantize(" +
                qint +
                ")\n"
                "    (activation_post_process): FakeQuantize(" +
                quint +
                ")\n"
                "  )\n"
                "  (dequant): DeQuantStub()\n"
                ")");
}

TEST(PreparedText, WhatWasFusedUnaskedIsShownSo) {
  const auto net = make_net();
  const std::string text = printed(*prepare_qat(net, {images(1)}, get_default_qat_qconfig("fbgemm")));
  EXPECT_NE(text.find("(conv): ConvBn2d(\n    2, 4, kernel_size=(3, 3)"), std::string::npos) << text;
  EXPECT_NE(text.find("(bn): Identity()"), std::string::npos) << text;
}

// PTQ: observers until finish(), quantizers with their scales from then on.
TEST(PreparedText, OfAModelThatIsBeingCalibrated) {
  const auto net = make_net();
  net->eval();
  EagerModel model(net, {images(1)});
  model.qconfig.set_global(get_default_qconfig("fbgemm"));
  PreparedModel prepared = prepare(fuse_modules(model, {{"conv", "bn", "relu"}}));
  const auto text_of = [&] {
    std::ostringstream stream;
    stream << prepared;
    return stream.str();
  };
  const std::string quint = "uint7 affine tensor, quant_min=0, quant_max=127, observer=";
  const std::string qint = "int8 symmetric channel:0, quant_min=-128, quant_max=127, observer=min_max)\n";
  EXPECT_EQ(text_of(),
            "Net(\n"
            "  (quant): QuantStub(\n"
            "    (activation_post_process): Observer(" +
                quint +
                "histogram)\n"
                "  )\n"
                "  (conv): ConvReLU2d(\n"
                "    (0): Conv2d(2, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))\n"
                "    (1): ReLU()\n"
                "    (weight_observer): Observer(" +
                qint + "    (activation_post_process): Observer(" + quint +
                "histogram)\n"
                "  )\n"
                "  (bn): Identity()\n"
                "  (relu): Identity()\n"
                "  (fc): Linear(\n"
                "    in_features=64, out_features=5, bias=True\n"
                "    (weight_observer): Observer(" +
                qint + "    (activation_post_process): Observer(" + quint +
                "histogram)\n"
                "  )\n"
                "  (dequant): DeQuantStub()\n"
                ")");
  prepared.forward(images(8));
  prepared.finish();
  const QParams params = qparams_of(*quantizer_of(prepared.graph(), "fc"));
  EXPECT_NE(text_of().find(concat("(activation_post_process): FakeQuantize(", quint,
                                  "histogram, scale=", params.scale[0], ", zero_point=", params.zero_point[0], ")")),
            std::string::npos)
      << text_of();
}

TEST(PreparedText, AFoldedNormIsShownSo) {
  const auto net = make_net();
  net->eval();
  const PreparedModel prepared = prepare(net, {images(1)}, get_default_qconfig("fbgemm"));
  EXPECT_NE(prepared.text().find("(bn): Identity()"), std::string::npos) << prepared.text();
}

TEST(PreparedText, IntegersInTheShapeOfTheModule) {
  const auto net = make_net();
  EagerModel model(net, {images(1)});
  model.qconfig.set_global(get_default_qat_qconfig("fbgemm"));
  model = fuse_modules_qat(model, {{"conv", "bn", "relu"}});
  const auto q = prepare_qat(model);
  q->forward(images(8));
  const QuantizedModel integers = convert(*q);
  const auto scale = [&](const std::string& value) {
    const QParams params = qparams_of(*quantizer_of(q->graph(), value));
    return concat("scale=", params.scale[0], ", zero_point=", params.zero_point[0]);
  };
  EXPECT_EQ(print_converted(model, integers),
            "Net(\n"
            "  (quant): Quantize(" +
                scale("quant_stub") +
                ", dtype=uint8)\n"
                "  (conv): QuantizedConvReLU2d(2, 4, kernel_size=(3, 3), stride=(1, 1), " +
                scale("bn.relu") +
                ", padding=(1, 1), weight=int8 per channel)\n"
                "  (bn): Identity()\n"
                "  (relu): Identity()\n"
                "  (fc): QuantizedLinear(in_features=64, out_features=5, " +
                scale("fc") +
                ", weight=int8 per channel)\n"
                "  (dequant): DeQuantize()\n"
                "  (bn.flatten): Flatten()\n"
                ")");
  EXPECT_EQ(print_converted(*q, integers), print_converted(model, integers));
}

// A FloatFunctional has no tensors: it is found by its place, as its qconfig is.
TEST(PreparedText, ASumIsShownInItsModule) {
  struct Block : nn::Module {
    Block() {
      conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(2, 2, 1)));
      bn = register_module("bn", nn::BatchNorm2d(2));
      skip_add = register_module("skip_add", std::make_shared<FloatFunctional>());
    }
    at::Tensor forward(const at::Tensor& x) { return skip_add->add_relu(bn(conv(x)), x); }
    nn::Conv2d conv{nullptr};
    nn::BatchNorm2d bn{nullptr};
    std::shared_ptr<FloatFunctional> skip_add;
  };
  struct Blocks : nn::Module {
    Blocks() {
      b1 = register_module("b1", std::make_shared<Block>());
      b2 = register_module("b2", std::make_shared<Block>());
    }
    at::Tensor forward(const at::Tensor& x) { return b2->forward(b1->forward(x)); }
    std::shared_ptr<Block> b1, b2;
  };
  const auto net = std::make_shared<QuantWrapper<Blocks>>(std::make_shared<Blocks>());
  const auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find("(skip_add): FloatFunctional(\n        (activation_post_process): " + part), std::string::npos)
        << text;
    EXPECT_EQ(text.find("bn.add"), std::string::npos) << text;
  };
  const auto expect_integers = [](const std::string& text) {
    EXPECT_NE(text.find("(skip_add): QuantizedAddReLU(scale="), std::string::npos) << text;
    EXPECT_EQ(text.find("FloatFunctional"), std::string::npos) << text;
    EXPECT_EQ(text.find("bn.add"), std::string::npos) << text;
  };
  const auto q = prepare_qat(net, {images(1)}, get_default_qat_qconfig("fbgemm"));
  expect(printed(*q), "FakeQuantize(");
  q->forward(images(4));
  expect_integers(print_converted(*q, convert(*q)));
  net->eval();
  EagerModel model(net, {images(1)});
  model.qconfig.set_global(get_default_qconfig("fbgemm"));
  PreparedModel prepared = prepare(model);
  expect(prepared.text(), "Observer(");
  prepared.forward(images(4));
  expect_integers(print_converted(model, convert(prepared)));
}

}  // namespace
}  // namespace quench
