// torchvision's own name for its quantizable network.
#include "quench/torchvision.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "data/files.h"
#include "quench/zoo_net.h"
#include "support/expect_error.h"

namespace quench {
namespace {

TEST(Torchvision, MobileNetV2ByItsOwnName) {
  const std::shared_ptr<ZooNet> net = zoo::mobilenet_v2("", {.num_classes = 3, .seed = 2});
  EXPECT_TRUE(net->is_training());
  const auto modules = net->named_modules();
  EXPECT_TRUE(modules.contains("quant") && modules.contains("features.3.skip_add") && modules.contains("dequant"));
  for (const auto& item : modules) EXPECT_FALSE(item.value()->name().ends_with("ReLU6")) << item.key();
  const TempFolder folder;
  const std::string path = folder.path("w.safetensors");
  write_safetensors(path, state_of(*net));
  const TensorMap read = state_of(*zoo::mobilenet_v2(path, {.num_classes = 3}));
  for (const auto& [name, tensor] : state_of(*net)) EXPECT_TRUE(at::equal(read.at(name), tensor)) << name;

  QuantizedModel integers = zoo::mobilenet_v2("", zoo::quantized, {.num_classes = 3});
  EXPECT_EQ(integers.stage, ModelStage::kConverted);
  EXPECT_EQ(integers.plan.platform, "qnnpack");
  EXPECT_EQ(integers.run({at::rand({2, 3, 224, 224})})[0].tensor().sizes(), at::IntArrayRef({2, 3}));
  EXPECT_ERROR(zoo::mobilenet_v2(path, zoo::quantized), "it is not a zip archive");
}

}  // namespace
}  // namespace quench
