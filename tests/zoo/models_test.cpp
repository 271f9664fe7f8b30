// Every model of the zoo: parameter names and counts as in the published checkpoints, output shapes,
// weights that depend on the seed alone.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>

#include "quench/zoo_net.h"

namespace quench {
namespace {

std::map<std::string, std::vector<std::int64_t>> shapes_of(const ZooNet& net) {
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const auto& item : net.named_parameters()) shapes[item.key()] = item.value().sizes().vec();
  for (const auto& item : net.named_buffers()) shapes[item.key()] = item.value().sizes().vec();
  return shapes;
}

using Shape = std::vector<std::int64_t>;

TEST(Zoo, CountsOfParametersAreThoseOfTheCheckpoints) {
  const std::map<std::string, std::int64_t> counts = {
      {"resnet18", 11'689'512},          {"resnet34", 21'797'672},          {"resnet50", 25'557'032},
      {"resnet20_cifar", 269'722},       {"resnet32_cifar", 464'154},       {"resnet44_cifar", 658'586},
      {"resnet56_cifar", 853'018},       {"mobilenet_v2", 3'504'872},       {"tiny_vit", 119'370},
      {"googlenet", 6'624'904},          {"shufflenet_v2_x0_5", 1'366'792}, {"shufflenet_v2_x1_0", 2'278'604},
      {"shufflenet_v2_x1_5", 3'503'624}, {"shufflenet_v2_x2_0", 7'393'996}, {"mobilenet_v3_large", 5'483'032},
      {"mobilenet_v3_small", 2'542'856}, {"resnet18_cifar", 11'173'962},    {"resnet34_cifar", 21'282'122},
      {"resnet50_cifar", 23'520'842},
  };
  for (const auto& [name, count] : counts) EXPECT_EQ(count_parameters(*make_zoo_model(name)), count) << name;
}

TEST(Zoo, ResNetHasTorchvisionsNames) {
  const auto shapes = shapes_of(*make_zoo_model("resnet18"));
  EXPECT_EQ(shapes.size(), 122U);
  EXPECT_EQ(shapes.at("conv1.weight"), (Shape{64, 3, 7, 7}));
  EXPECT_EQ(shapes.at("bn1.running_var"), (Shape{64}));
  EXPECT_EQ(shapes.at("bn1.num_batches_tracked"), (Shape{}));
  EXPECT_EQ(shapes.at("layer2.0.downsample.0.weight"), (Shape{128, 64, 1, 1}));
  EXPECT_EQ(shapes.at("layer2.0.downsample.1.running_mean"), (Shape{128}));
  EXPECT_EQ(shapes.at("layer4.1.bn2.bias"), (Shape{512}));
  EXPECT_EQ(shapes.at("fc.weight"), (Shape{1000, 512}));
  EXPECT_FALSE(shapes.contains("layer1.0.downsample.0.weight"));

  // OpenMMLab's ResNet_CIFAR has the same names.
  const auto small = shapes_of(*make_zoo_model("resnet18_cifar"));
  EXPECT_EQ(small.size(), 122U);
  EXPECT_EQ(small.at("conv1.weight"), (Shape{64, 3, 3, 3}));
  EXPECT_EQ(small.at("fc.weight"), (Shape{10, 512}));

  const auto bottleneck = shapes_of(*make_zoo_model("resnet50"));
  EXPECT_EQ(bottleneck.size(), 320U);
  EXPECT_EQ(bottleneck.at("layer1.0.downsample.0.weight"), (Shape{256, 64, 1, 1}));
  EXPECT_EQ(bottleneck.at("layer4.2.conv3.weight"), (Shape{2048, 512, 1, 1}));
}

TEST(Zoo, CifarResNetHasTheCheckpointsNames) {
  const auto shapes = shapes_of(*make_zoo_model("resnet20_cifar"));
  EXPECT_EQ(shapes.at("conv1.weight"), (Shape{16, 3, 3, 3}));
  EXPECT_EQ(shapes.at("layer2.0.conv1.weight"), (Shape{32, 16, 3, 3}));
  EXPECT_EQ(shapes.at("layer3.2.bn2.running_var"), (Shape{64}));
  EXPECT_EQ(shapes.at("linear.weight"), (Shape{10, 64}));
  for (const auto& [name, shape] : shapes) EXPECT_EQ(name.find("downsample"), std::string::npos) << name;
}

TEST(Zoo, MobileNetV2HasTorchvisionsNames) {
  const auto shapes = shapes_of(*make_zoo_model("mobilenet_v2"));
  EXPECT_EQ(shapes.size(), 314U);
  EXPECT_EQ(shapes.at("features.0.0.weight"), (Shape{32, 3, 3, 3}));
  EXPECT_EQ(shapes.at("features.1.conv.0.0.weight"), (Shape{32, 1, 3, 3}));
  EXPECT_EQ(shapes.at("features.1.conv.1.weight"), (Shape{16, 32, 1, 1}));
  EXPECT_EQ(shapes.at("features.1.conv.2.running_mean"), (Shape{16}));
  EXPECT_EQ(shapes.at("features.2.conv.1.0.weight"), (Shape{96, 1, 3, 3}));
  EXPECT_EQ(shapes.at("features.17.conv.2.weight"), (Shape{320, 960, 1, 1}));
  EXPECT_EQ(shapes.at("features.17.conv.3.bias"), (Shape{320}));
  EXPECT_EQ(shapes.at("features.18.1.weight"), (Shape{1280}));
  EXPECT_EQ(shapes.at("classifier.1.weight"), (Shape{1000, 1280}));
}

TEST(Zoo, GoogLeNetHasTorchvisionsNames) {
  const auto shapes = shapes_of(*make_zoo_model("googlenet"));
  EXPECT_EQ(shapes.size(), 57U * 6 + 2);
  EXPECT_EQ(shapes.at("conv1.conv.weight"), (Shape{64, 3, 7, 7}));
  EXPECT_EQ(shapes.at("inception3a.branch1.conv.weight"), (Shape{64, 192, 1, 1}));
  EXPECT_EQ(shapes.at("inception4e.branch3.1.conv.weight"), (Shape{128, 32, 3, 3}));
  EXPECT_EQ(shapes.at("inception5b.branch4.1.bn.running_var"), (Shape{128}));
  EXPECT_EQ(shapes.at("fc.weight"), (Shape{1000, 1024}));
}

TEST(Zoo, ShuffleNetV2HasTorchvisionsNames) {
  const auto shapes = shapes_of(*make_zoo_model("shufflenet_v2_x1_0"));
  EXPECT_EQ(shapes.size(), 56U * 6 + 2);
  EXPECT_EQ(shapes.at("conv1.0.weight"), (Shape{24, 3, 3, 3}));
  EXPECT_EQ(shapes.at("stage2.0.branch1.0.weight"), (Shape{24, 1, 3, 3}));
  EXPECT_EQ(shapes.at("stage2.0.branch1.3.bias"), (Shape{58}));
  EXPECT_EQ(shapes.at("stage3.7.branch2.5.weight"), (Shape{116, 116, 1, 1}));
  EXPECT_EQ(shapes.at("stage4.1.branch2.6.running_mean"), (Shape{232}));
  EXPECT_EQ(shapes.at("conv5.1.weight"), (Shape{1024}));
}

TEST(Zoo, MobileNetV3HasTorchvisionsNames) {
  const auto shapes = shapes_of(*make_zoo_model("mobilenet_v3_large"));
  EXPECT_EQ(shapes.size(), 46U * 6 + 8 * 4 + 4);
  EXPECT_EQ(shapes.at("features.1.block.0.0.weight"), (Shape{16, 1, 3, 3}));
  EXPECT_EQ(shapes.at("features.4.block.2.fc1.weight"), (Shape{24, 72, 1, 1}));
  EXPECT_EQ(shapes.at("features.4.block.3.1.weight"), (Shape{40}));
  EXPECT_EQ(shapes.at("features.15.block.2.fc2.bias"), (Shape{960}));
  EXPECT_EQ(shapes.at("features.16.0.weight"), (Shape{960, 160, 1, 1}));
  EXPECT_EQ(shapes.at("classifier.3.weight"), (Shape{1000, 1280}));
}

TEST(Zoo, TinyVitHasTorchvisionsNames) {
  const auto shapes = shapes_of(*make_zoo_model("tiny_vit"));
  EXPECT_EQ(shapes.size(), 32U);
  EXPECT_EQ(shapes.at("class_token"), (Shape{1, 1, 64}));
  EXPECT_EQ(shapes.at("conv_proj.weight"), (Shape{64, 3, 16, 16}));
  EXPECT_EQ(shapes.at("encoder.pos_embedding"), (Shape{1, 37, 64}));
  EXPECT_EQ(shapes.at("encoder.layers.encoder_layer_1.self_attention.in_proj_weight"), (Shape{192, 64}));
  EXPECT_EQ(shapes.at("encoder.layers.encoder_layer_1.mlp.3.weight"), (Shape{64, 128}));
  EXPECT_EQ(shapes.at("heads.head.bias"), (Shape{10}));
}

TEST(Zoo, TinyVitRefusesAnotherImageSize) {
  try {
    zoo_forward(*make_zoo_model("tiny_vit"), at::zeros({1, 3, 32, 32}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "tiny_vit takes images of 96x96; the input has shape [1, 3, 32, 32]");
  }
}

TEST(Zoo, OptionAShortcutTakesEverySecondPixelAndPadsChannels) {
  auto net = make_zoo_model("resnet20_cifar");
  const at::NoGradGuard no_grad;
  // With the block's own path zeroed, what comes out is relu(shortcut(x)).
  auto parameters = net->named_parameters();
  parameters["layer2.0.bn2.weight"].zero_();
  auto block = net->named_modules()["layer2.0"];
  const at::Tensor x = at::rand({2, 16, 8, 8});
  const at::Tensor y = dynamic_cast<ZooNet&>(*block).forward(x);
  ASSERT_EQ(y.sizes(), (Shape{2, 32, 4, 4}));
  EXPECT_TRUE(at::equal(y.slice(1, 8, 24), x.slice(2, 0, 8, 2).slice(3, 0, 8, 2)));
  EXPECT_EQ(y.slice(1, 0, 8).abs().sum().item<float>(), 0.0F);
  EXPECT_EQ(y.slice(1, 24, 32).abs().sum().item<float>(), 0.0F);
}

TEST(Zoo, EveryModelMapsItsOwnImageSizeToItsClasses) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, entry] : ZooRegistry::instance().entries()) {
    auto net = make_zoo_model(name, {.num_classes = 7});
    set_training(*net, false);
    const ZooEntry& item = entry.item;
    const at::Tensor y = zoo_forward(*net, at::zeros({2, item.in_channels, item.image_size, item.image_size}));
    EXPECT_EQ(y.sizes(), (Shape{2, 7})) << name;
    EXPECT_TRUE(y.isfinite().all().item<bool>()) << name;
  }
}

TEST(Zoo, TakesOtherNumbersOfChannels) {
  const at::NoGradGuard no_grad;
  auto net = make_zoo_model("resnet20_cifar", {.num_classes = 3, .in_channels = 1});
  EXPECT_EQ(zoo_forward(*net, at::zeros({2, 1, 32, 32})).sizes(), (Shape{2, 3}));
}

TEST(Zoo, WeightsDependOnTheSeedAloneAndLeaveTheGlobalGeneratorAlone) {
  at::manual_seed(5);
  const at::Tensor expected = at::rand({4});
  at::manual_seed(5);
  auto first = make_zoo_model("resnet20_cifar", {.seed = 1});
  EXPECT_TRUE(at::equal(at::rand({4}), expected));
  at::rand({100});
  auto second = make_zoo_model("resnet20_cifar", {.seed = 1});
  auto third = make_zoo_model("resnet20_cifar", {.seed = 2});
  const auto a = first->named_parameters(), b = second->named_parameters(), c = third->named_parameters();
  for (const auto& item : a) EXPECT_TRUE(at::equal(item.value(), b[item.key()])) << item.key();
  EXPECT_FALSE(at::equal(a["conv1.weight"], c["conv1.weight"]));
}

TEST(Zoo, InitialisesConvolutionsByFanOut) {
  auto net = make_zoo_model("resnet18");
  const auto parameters = net->named_parameters();
  const double expected = std::sqrt(2.0 / (512 * 9));
  EXPECT_NEAR(parameters["layer4.0.conv1.weight"].std().item<double>(), expected, 0.01 * expected);
  EXPECT_TRUE(parameters["bn1.weight"].eq(1).all().item<bool>());
  EXPECT_TRUE(parameters["bn1.bias"].eq(0).all().item<bool>());
}

TEST(Zoo, AnUnknownNameIsAnErrorWithTheNearest) {
  try {
    make_zoo_model("resnet19");
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("unknown zoo model 'resnet19'; did you mean 'resnet18'?"), std::string::npos) << text;
  }
}

TEST(Zoo, ANegativeCountIsAnError) {
  try {
    make_zoo_model("resnet18", {.num_classes = -1});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "num_classes of zoo model 'resnet18' is -1; it must be positive, or 0 for the model's own 1000");
  }
}

}  // namespace
}  // namespace quench
