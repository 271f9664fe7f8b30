// The quantizable forms: the float network between stubs, with the lists that torchvision's fuse_model fuses.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include <set>

#include "quench/state_dict.h"
#include "quench/torch.h"
#include "quench/zoo_net.h"
#include "support/expect_error.h"
#include "zoo/torch_bytes.h"

namespace quench {
namespace {

std::vector<std::string> quantizable_names() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : ZooRegistry::instance().entries())
    if (entry.item.quantizable) names.push_back(name);
  return names;
}

at::Tensor images_for(const std::string& name, std::int64_t count) {
  const ZooEntry& entry = ZooRegistry::instance().get(name);
  at::manual_seed(3);
  const std::int64_t size =
      std::min<std::int64_t>(entry.image_size, 64);  // of a smaller image: this is about bits, not sense
  return at::randn({count, entry.in_channels, size, size});
}

// What torchvision's fuse_model would walk over: every convolution with the BatchNorm that is registered after it.
std::set<std::string> convolutions_of(const ZooNet& net) {
  std::set<std::string> names;
  for (const auto& item : net.named_modules())
    if (item.value()->as<torch::nn::Conv2d>()) names.insert(item.key());
  return names;
}

TEST(Quantizable, AllFamiliesOfTorchvisionAreThere) {
  const std::vector<std::string> names = quantizable_names();
  for (const char* name : {"mobilenet_v2", "mobilenet_v3_large", "resnet18", "resnet18_cifar", "resnet50", "googlenet",
                           "shufflenet_v2_x0_5", "shufflenet_v2_x1_0"})
    EXPECT_TRUE(std::find(names.begin(), names.end(), name) != names.end()) << name;
}

TEST(Quantizable, BothFormsHaveTheSameWeightsAndGiveTheSameBits) {
  const at::NoGradGuard no_grad;
  for (const std::string& name : quantizable_names()) {
    auto plain = make_zoo_model(name, {.num_classes = 5, .seed = 4});
    auto stubbed = make_zoo_model(name, {.num_classes = 5, .seed = 4, .quantizable = true});
    const auto children = stubbed->named_children();
    EXPECT_TRUE(children.contains("quant") && children.contains("dequant")) << name;
    EXPECT_FALSE(plain->named_children().contains("quant")) << name;
    const at::Tensor x = images_for(name, 2);
    set_training(*plain, false);
    set_training(*stubbed, false);
    EXPECT_TRUE(at::equal(zoo_forward(*plain, x), zoo_forward(*stubbed, x))) << name;
    const TensorMap a = state_of(*plain), b = state_of(*stubbed);
    ASSERT_EQ(a.size(), b.size()) << name;
    for (const auto& [key, tensor] : a) EXPECT_TRUE(at::equal(tensor, b.at(key))) << name << " " << key;
  }
}

TEST(Quantizable, StubsAreTheFirstAndTheLastNodeOfATrace) {
  auto net = make_zoo_model("resnet18", {.num_classes = 5, .quantizable = true});
  const Graph graph = from_module(net, {at::randn({1, 3, 32, 32})});
  EXPECT_EQ(graph.nodes().front()->op(), "quench.QuantStub");
  EXPECT_EQ(graph.nodes().back()->op(), "quench.DeQuantStub");
}

TEST(Quantizable, EveryConvolutionIsInOneListWithWhatFollowsIt) {
  for (const std::string& name : quantizable_names()) {
    const auto net = make_zoo_model(name);
    std::set<std::string> expected = convolutions_of(*net);
    const auto modules = net->named_modules();
    for (const std::vector<std::string>& list : fusible_modules(*net)) {
      ASSERT_GE(list.size(), 2U);
      EXPECT_EQ(expected.erase(list[0]), 1U) << name << " " << list[0];
      for (const std::string& part : list) EXPECT_TRUE(modules.contains(part)) << name << " " << part;
      if (list[0].ends_with("fc1")) continue;  // of squeeze-and-excitation: no BatchNorm
      EXPECT_TRUE(modules[list[1]]->as<torch::nn::BatchNorm2d>()) << name << " " << list[1];
    }
    // The second layer of squeeze-and-excitation is followed by a hard sigmoid, which fuses with nothing.
    std::erase_if(expected, [](const std::string& conv) { return conv.ends_with("fc2"); });
    EXPECT_TRUE(expected.empty()) << name << " " << *expected.begin();
  }
}

TEST(Quantizable, FusesWhatTorchvisionFuses) {
  const auto lists = [](const char* name) {
    const FuseLists all = fusible_modules(*make_zoo_model(name));
    return std::set<std::vector<std::string>>(all.begin(), all.end());
  };
  const auto mobile = lists("mobilenet_v2");
  EXPECT_EQ(mobile.size(), 52U);
  EXPECT_TRUE(mobile.contains({"features.0.0", "features.0.1", "features.0.2"}));
  EXPECT_TRUE(mobile.contains({"features.1.conv.1", "features.1.conv.2"}));
  EXPECT_TRUE(mobile.contains({"features.2.conv.2", "features.2.conv.3"}));
  EXPECT_TRUE(mobile.contains({"features.17.conv.1.0", "features.17.conv.1.1", "features.17.conv.1.2"}));
  const auto basic = lists("resnet18");
  EXPECT_EQ(basic.size(), 20U);
  EXPECT_TRUE(basic.contains({"conv1", "bn1", "relu"}));
  EXPECT_TRUE(basic.contains({"layer2.0.conv1", "layer2.0.bn1", "layer2.0.relu"}));
  EXPECT_TRUE(basic.contains({"layer2.0.conv2", "layer2.0.bn2"}));
  EXPECT_TRUE(basic.contains({"layer2.0.downsample.0", "layer2.0.downsample.1"}));
  EXPECT_TRUE(lists("resnet50").contains({"layer1.0.conv2", "layer1.0.bn2", "layer1.0.relu2"}));
  EXPECT_TRUE(lists("googlenet")
                  .contains({"inception3a.branch2.1.conv", "inception3a.branch2.1.bn", "inception3a.branch2.1.relu"}));
  const auto shuffle = lists("shufflenet_v2_x1_0");
  EXPECT_TRUE(shuffle.contains({"stage2.0.branch1.0", "stage2.0.branch1.1"}));
  EXPECT_TRUE(shuffle.contains({"stage2.0.branch1.2", "stage2.0.branch1.3", "stage2.0.branch1.4"}));
  EXPECT_TRUE(shuffle.contains({"stage4.3.branch2.5", "stage4.3.branch2.6", "stage4.3.branch2.7"}));
  const auto third = lists("mobilenet_v3_large");
  EXPECT_TRUE(third.contains({"features.0.0", "features.0.1"}));  // hardswish does not fuse
  EXPECT_TRUE(third.contains({"features.4.block.1.0", "features.4.block.1.1", "features.4.block.1.2"}));
  EXPECT_TRUE(third.contains({"features.4.block.2.fc1", "features.4.block.2.activation"}));
}

// ReLU6 and ReLU differ exactly where something is greater than 6.
TEST(Quantizable, ReplaceRelu6LeavesReLU) {
  const at::NoGradGuard no_grad;
  auto net = make_zoo_model("mobilenet_v2", {.num_classes = 5, .quantizable = true});
  set_training(*net, false);
  net->named_parameters()["features.0.1.weight"].fill_(1000);
  auto& first = dynamic_cast<ZooNet&>(*net->named_modules()["features.0"]);
  const at::Tensor x = at::randn({1, 3, 32, 32}), before = first.forward(x);
  EXPECT_EQ(before.max().item<float>(), 6.0F);
  replace_relu6(*net);
  const at::Tensor after = first.forward(x);
  EXPECT_GT(after.max().item<float>(), 6.0F);
  EXPECT_TRUE(at::equal(after.clamp_max(6), before));
  for (const auto& item : net->named_modules())
    EXPECT_EQ(item.value()->name().find("ReLU6"), std::string::npos) << item.key();
  EXPECT_EQ(fusible_modules(*net).size(), 52U);
}

TEST(Quantizable, MakesTorchvisionsModelWithWeightsFromAFile) {
  const at::NoGradGuard no_grad;
  const auto from = make_zoo_model("mobilenet_v2", {.num_classes = 5, .seed = 8});
  TensorMap weights;
  for (const auto& [name, tensor] : state_of(*from)) weights[name] = tensor.detach();
  const TempFile file("", "w.safetensors");
  write_safetensors(file.path(), weights);
  const auto net = make_quantizable_model("mobilenet_v2", file.path(), {.num_classes = 5});
  EXPECT_TRUE(net->named_children().contains("quant"));
  for (const auto& [name, tensor] : state_of(*net)) EXPECT_TRUE(at::equal(tensor, weights.at(name))) << name;
  EXPECT_TRUE(net->named_modules()["features.0.2"]->name().ends_with("ReLU"));
  EXPECT_ERROR(make_quantizable_model("resnet18", file.path()), "the weights do not fit the module");
}

TEST(Quantizable, AModelWithoutThatFormIsAnError) {
  EXPECT_ERROR(make_zoo_model("tiny_vit", {.quantizable = true}),
               "zoo model 'tiny_vit' has no quantizable form; 'quench list zoo' shows which have one");
}

}  // namespace
}  // namespace quench
