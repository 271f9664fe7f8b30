// The model zoo: torch::nn networks by name, with torchvision's parameter names and initialisation. No
// LibTorch header is needed to ask for one; to call its forward directly include "quench/zoo_net.h".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quench/registry.h"

namespace at {
class Tensor;
}

namespace quench {

struct ZooNet;                                            // a torch::nn::Module with a virtual forward(x)
using FuseLists = std::vector<std::vector<std::string>>;  // names of submodules that fuse: what fuse_modules takes

struct ZooOptions {
  std::int64_t num_classes = 0;  // 0: the model's own (see ZooEntry)
  std::int64_t in_channels = 0;  // 0: the model's own
  std::uint64_t seed = 0;        // of the initial weights: same seed, same bits
  bool quantizable = false;      // with QuantStub and DeQuantStub, as in torchvision.models.quantization
};

struct ZooEntry {
  static constexpr const char* kKind = "zoo model";
  std::shared_ptr<ZooNet> (*make)(const ZooOptions& options) = nullptr;  // gets options without zeros
  std::int64_t num_classes = 1000;
  std::int64_t in_channels = 3;
  std::int64_t image_size = 224;                // the height and width it is meant for
  bool quantizable = false;                     // has a form with stubs
  std::vector<std::string> training_only = {};  // submodules in torchvision's files that the network does without
};
using ZooRegistry = Registry<ZooEntry>;

// A fresh model in training mode. Throws for an unknown name, with the known ones. LibTorch's global
// random generator is left as it was.
std::shared_ptr<ZooNet> make_zoo_model(const std::string& name, const ZooOptions& options = {});

// torchvision.models.quantization.NAME(quantize=False): the quantizable form with ReLU for ReLU6, and the weights of a
// state dict ("": fresh ones). With quantize=True it is make_quantized_model (quench/load_quantized.h).
std::shared_ptr<ZooNet> make_quantizable_model(const std::string& name, const std::string& weights = "",
                                               ZooOptions options = {});

// The zoo's name of a network that configs of OpenMMLab describe: ("mmcls.ResNet", {{"depth", "18"}}) is "resnet18". A
// name of the zoo is itself. Throws for what the zoo does not have.
std::string zoo_name_of(const std::string& type, const std::map<std::string, std::string>& options = {});

at::Tensor zoo_forward(ZooNet& net, const at::Tensor& images);  // logits
void set_training(ZooNet& net, bool training);                  // BatchNorm and Dropout: train or evaluate
std::int64_t count_parameters(const ZooNet& net);               // trainable elements

// The chains of submodules that count as one layer, what torchvision's fuse_model fuses:
//   model = quench::fuse_modules(model, quench::fusible_modules(*net), is_qat);
FuseLists fusible_modules(const ZooNet& net);

// ReLU in place of every ReLU6, in both forms: torchvision's builders of quantizable models do this. Changes results.
void replace_relu6(ZooNet& net);

}  // namespace quench

// QUENCH_REGISTER_ZOO("resnet18", "ResNet-18 of torchvision", {make_resnet18, 1000, 3, 224, true})
#define QUENCH_REGISTER_ZOO(name, summary, ...) QUENCH_REGISTER_ITEM(::quench::ZooEntry, name, summary, __VA_ARGS__)
