// A converted network against ONNX Runtime on the file that was deployed: every code of every layer, end to end.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <iostream>

#include "convert/resnet20.h"
#include "quench/convert.h"
#include "quench/deploy.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "verify/deployed_demo.h"
#include "verify/deployed_model.h"
#include "verify/runner.h"

namespace quench {
namespace {

TEST(OnnxRuntime, GivesEveryCodeOfTheConvertedResNet20) {
  const std::optional<ResNet20> net = calibrated_resnet20(64);
  if (!net) GTEST_SKIP() << "models/resnet20_cifar10_bn.onnx or cifar10/ is not in the data folder (QUENCH_DATA)";
  std::string why;
  if (runtime_python("onnxruntime", why).empty()) GTEST_SKIP() << why;
  if (!processor_adds_exactly()) GTEST_SKIP() << "without VNNI its kernels saturate";
  TemporaryFolder folder;
  DeployOptions options;
  options.name = "resnet20";
  write_deployment(deploy(net->model, options), folder.path("files"));
  const DeployedModel file = read_deployed(deployed_files(folder.path("files"), "onnxruntime").at(0), {});
  const std::string tapped_file = folder.path("tapped.onnx");
  write_tapped(file, tapped_file);
  const NamedValues inputs = {{file.file.inputs()[0]->name(), RtValue(net->images)}};
  ScratchFolder scratch;
  const NamedValues theirs = make_runner({}).run(tapped_file, inputs, scratch);

  const QuantizedModel int8 = convert(net->model);
  std::map<std::string, std::string> value_of_tap;  // by the tensor that was quantized
  std::vector<std::string> values;
  for (const Tap& tap : file.taps) {
    const bool is_output = file.simulated.value(tap.quantizer).is_graph_output();
    const std::string value =
        (is_output ? tap.quantizer : file.simulated.value(tap.quantizer).producer()->input(0)->name()) + ".fq";
    ASSERT_TRUE(int8.graph.find_value(value)) << value << " for " << tap.codes;
    value_of_tap[tap.codes] = value;
    values.push_back(value);
  }
  const NamedValues ours = Executor(int8.graph).run(inputs, values);
  std::int64_t codes = 0, different = 0;
  for (const auto& [tap, value] : value_of_tap) {
    const at::Tensor a = ours.at(value).tensor().to(at::kInt), b = theirs.at(tap).tensor().to(at::kInt);
    ASSERT_EQ(a.sizes(), b.sizes()) << value;
    const auto count = a.ne(b).sum().item<std::int64_t>();
    EXPECT_EQ(count, 0) << value << ": of " << a.numel();
    codes += a.numel(), different += count;
  }
  std::cout << "  " << different << " of " << codes << " codes of " << value_of_tap.size() << " tensors differ\n";
  EXPECT_GT(codes, 4000000);
  const std::string logits = int8.graph.outputs()[0]->name();
  EXPECT_TRUE(at::equal(Executor(int8.graph).run(inputs, {logits}).at(logits).tensor(),
                        make_runner({}).run(file.path, inputs, scratch).at(logits).tensor()))
      << "the file without taps";
}

}  // namespace
}  // namespace quench
