// _base_ and _delete_, as mmengine has them.
#include "config/jobs.h"

namespace quench {
namespace {

TEST(ConfigBase, IsLaidUnderTheFile) {
  const TempFolder dir;
  dir.write("base.yaml", "platform: tensorrt\ndefaults: {weight: {bits: 4, narrow: true}, activation: {bits: 8}}");
  dir.write("sub/job.yaml", "_base_: ../base.yaml\ndefaults: {weight: {bits: 6}}");
  const JobConfig job = read_config(dir.path("sub/job.yaml"));
  EXPECT_EQ(job.quant.platform, "tensorrt");
  EXPECT_EQ(job.quant.weight.bits, 6);
  EXPECT_EQ(job.quant.weight.narrow, true);
  EXPECT_EQ(job.quant.activation.bits, 8);
}

TEST(ConfigBase, DeleteReplacesAMap) {
  const TempFolder dir;
  dir.write("base.yaml", "defaults: {weight: {bits: 4, narrow: true}}");
  dir.write(
      "job.yaml",
      "_base_: [base.yaml]\ndefaults: {weight: {_delete_: true, bits: 6}, activation: {_delete_: true, bits: 3}}");
  const JobConfig job = read_config(dir.path("job.yaml"));
  EXPECT_EQ(job.quant.weight.bits, 6);
  EXPECT_EQ(job.quant.weight.narrow, std::nullopt);
  EXPECT_EQ(job.quant.activation.bits, 3);
}

TEST(ConfigBase, MayBeSeveralAndHaveBasesThemselves) {
  const TempFolder dir;
  dir.write("root.json", R"({"seed": 3})");
  dir.write("a.yaml", "_base_: root.json\nmodel: a.onnx");
  dir.write("b.yaml", "platform: tensorrt");
  dir.write("job.yaml", "_base_: [a.yaml, b.yaml]");
  const JobConfig job = read_config(dir.path("job.yaml"));
  EXPECT_EQ(job.seed, 3u);
  EXPECT_EQ(job.model, "a.onnx");
  EXPECT_EQ(job.quant.platform, "tensorrt");
}

TEST(ConfigBase, ErrorsNameTheFileThatIsToBlame) {
  const TempFolder dir;
  dir.write("base.yaml", "seed: 1\nmodle: x");
  dir.write("job.yaml", "_base_: base.yaml\nseed: 2");
  const std::string message = message_of([&] { read_config(dir.path("job.yaml")); });
  EXPECT_CONTAINS(message, "at line 2 of " + dir.path("base.yaml"));
  dir.write("twice.yaml", "_base_: [base.yaml, base.yaml]");
  EXPECT_CONTAINS(message_of([&] { read_config(dir.path("twice.yaml")); }), "two bases both have the key 'seed'");
  dir.write("missing.yaml", "\n_base_: nowhere.yaml");
  const std::string missing = message_of([&] { read_config(dir.path("missing.yaml")); });
  EXPECT_CONTAINS(missing, "nowhere.yaml");
  EXPECT_CONTAINS(missing, "at line 2 of " + dir.path("missing.yaml"));
}

TEST(ConfigBase, CirclesAreNamed) {
  const TempFolder dir;
  dir.write("a.yaml", "_base_: b.yaml");
  dir.write("b.yaml", "_base_: ./a.yaml");
  EXPECT_CONTAINS(message_of([&] { read_config(dir.path("a.yaml")); }),
                  "the configs inherit in a cycle: a.yaml -> b.yaml -> a.yaml");
  dir.write("self.yaml", "_base_: self.yaml");
  EXPECT_CONTAINS(message_of([&] { read_config(dir.path("self.yaml")); }), "self.yaml -> self.yaml");
}

TEST(ConfigBase, PythonConfigsAreRefusedWithTheCommandThatDumpsThem) {
  const std::string message = message_of([] { read_config("configs/ptq.py"); });
  EXPECT_CONTAINS(message,
                  "python -c \"from mmengine import Config; Config.fromfile('configs/ptq.py').dump('ptq.yaml')\"");
  EXPECT_CONTAINS(refused("_base_: resnet18.py"), "resnet18.py");
  EXPECT_CONTAINS(refused("_base_: ['mmcls::resnet/resnet18']"), "inside a Python package");
}

}  // namespace
}  // namespace quench
