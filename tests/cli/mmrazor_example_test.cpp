// The config of mmrazor's document, Customize Quantization Algorithms (LSQ on OpenVINO), as mmengine dumps it: with the
// architecture of its base, and weights and images that are made here.
#include "cli/demo.h"
#include "core/philox.h"
#include "quench/safetensors.h"
#include "quench/state_dict.h"
#include "quench/zoo.h"
#include "quench/zoo_net.h"
#include "verify/deployed_demo.h"

namespace quench {
namespace {

constexpr const char* kExample = R"(
global_qconfig: &qconfig
  w_observer: {type: mmrazor.LSQPerChannelObserver}
  a_observer: {type: mmrazor.LSQObserver}
  w_fake_quant: {type: mmrazor.LearnableFakeQuantize}
  a_fake_quant: {type: mmrazor.LearnableFakeQuantize}
  w_qscheme: {qdtype: qint8, bit: 8, is_symmetry: true, is_symmetric_range: true}
  a_qscheme: {qdtype: quint8, bit: 8, is_symmetry: true}
model:
  _scope_: mmrazor
  type: MMArchitectureQuant
  data_preprocessor:
    type: mmcls.ClsDataPreprocessor
    num_classes: 1000
    mean: [123.675, 116.28, 103.53]
    std: [58.395, 57.12, 57.375]
    to_rgb: true
  architecture:
    type: ImageClassifier
    backbone: {type: ResNet_CIFAR, depth: 18, num_stages: 4, out_indices: [3], style: pytorch}
    neck: {type: GlobalAveragePooling}
    head: {type: LinearClsHead, num_classes: 10, in_channels: 512, loss: {type: CrossEntropyLoss, loss_weight: 1.0}}
  float_checkpoint: float.safetensors
  quantizer:
    type: mmrazor.OpenVINOQuantizer
    is_qat: true
    global_qconfig: *qconfig
    tracer:
      type: mmrazor.CustomTracer
      skipped_methods: [mmcls.models.heads.ClsHead._get_loss, mmcls.models.heads.ClsHead._get_predictions]
optim_wrapper: {}
param_scheduler: {}
model_wrapper_cfg: {}
train_cfg: {type: mmrazor.LSQEpochBasedLoop}
val_cfg: &evaluation {}
test_cfg: *evaluation
)";

std::uint8_t drawn_byte(std::uint64_t counter) { return static_cast<std::uint8_t>(random_bits(7, counter) >> 56); }

// A label and 3 x 32 x 32 bytes for each: squares of 8 x 8 pixels that are dark or bright.
void write_images(const std::string& path, std::uint64_t count) {
  std::string bytes;
  for (std::uint64_t image = 0; image < count; ++image) {
    bytes += static_cast<char>(image % 10);
    for (std::uint64_t k = 0; k < 3072; ++k)
      bytes += static_cast<char>(drawn_byte(image * 64 + k / 1024 * 16 + k / 256 % 4 * 4 + k / 8 % 4));
  }
  std::ofstream(path, std::ios::binary) << bytes;
}

bool has_note(const nlohmann::json& record, const std::string& part) {
  for (const nlohmann::json& note : record.at("notes"))
    if (note.get<std::string>().find(part) != std::string::npos) return true;
  return false;
}

TEST(MmrazorsExample, TrainsAndComputesInOpenVinoWhatWasTrained) {
  const TemporaryFolder folder;
  write_images(folder.path("images.bin"), 16);
  write_safetensors(folder.path("float.safetensors"), state_of(*make_zoo_model("resnet18_cifar", {.seed = 1})));
  std::ofstream(folder.path("lsq.yaml")) << kExample;
  const std::string data = "cifar10:" + folder.path("images.bin");
  const std::vector<std::string> job = {"train",
                                        folder.path("lsq.yaml"),
                                        "--train",
                                        data,
                                        "--train-batch",
                                        "4",
                                        "--set",
                                        "model.float_checkpoint=" + folder.path("float.safetensors"),
                                        "--set",
                                        "quench.train.max_steps=2",
                                        "--profile",
                                        "0",
                                        "-o",
                                        folder.path("out"),
                                        "--json"};
  const Outcome trained = quench_run(job);
  ASSERT_EQ(trained.code, 0) << trained.err;
  const nlohmann::json record = trained.json();
  EXPECT_EQ(record.at("training").at("steps"), 2);
  EXPECT_TRUE(has_note(record, "names no optimizer: quench's own is used"));
  EXPECT_TRUE(has_note(record, "'train_cfg.max_epochs' is missing"));
  EXPECT_FALSE(has_note(record, "architecture")) << "it is the network that was trained";
  std::ofstream(folder.path("again.yaml")) << record.at("config").get<std::string>();
  const Outcome again = quench_run({"train", folder.path("again.yaml"), "--dry-run"});
  EXPECT_EQ(again.code, 0) << again.err;

  std::string why;
  if (runtime_python("openvino", why).empty()) GTEST_SKIP() << why;
  // Hardly trained weights give outputs of a small range, whose steps are small, too.
  const Outcome verified = quench_run({"verify", folder.path("out/deploy"), "--runtime", "openvino", "--data",
                                       data + "?norm=imagenet", "--output-mean", "8"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
}

}  // namespace
}  // namespace quench
