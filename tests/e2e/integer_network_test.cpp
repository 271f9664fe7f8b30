// Whole networks on the plain integer reference against their simulation, with quantizers as the platform "onnxruntime"
// places them. docs/numerics.md 11.
#include "verify/integer_network.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <chrono>
#include <iomanip>
#include <iostream>

#include "e2e/demo_model.h"
#include "quant/reference.h"
#include "quench/calibrate.h"
#include "quench/data.h"
#include "quench/import.h"
#include "quench/prepare.h"
#include "support/data_file.h"

namespace quench {
namespace {

constexpr std::int64_t kImages = 1000, kBatch = 100, kCalibration = 256;
using Codes = IntegerNetwork::Codes;

struct Differences {
  std::int64_t codes = 0, different = 0, largest = 0;

  void add(const at::Tensor& a, const at::Tensor& b) {
    ASSERT_EQ(a.sizes(), b.sizes());
    const at::Tensor apart = (a.to(at::kInt) - b.to(at::kInt)).abs();
    codes += apart.numel();
    different += apart.ne(0).sum().item<std::int64_t>();
    largest = std::max(largest, apart.max().item<std::int64_t>());
  }
};

// The codes of every quantizer of the float graph: its values lie on the grid.
Codes simulate(Executor& executor, const IntegerNetwork& network, const at::Tensor& x) {
  const std::string& input = executor.graph().inputs()[0]->name();
  Codes codes;
  for (const auto& [name, value] : executor.run({{input, RtValue(x)}}, network.names()))
    codes[name] = quantize_reference(value.tensor(), network.type(name));
  return codes;
}

struct Comparison {
  std::map<std::string, Differences> whole;  // the network as it runs
  std::map<std::string, Differences> alone;  // each layer on the simulation's inputs
  std::int64_t images = 0, equal = 0, right = 0;
  double seconds = 0.0;  // in integers
};

void add_all(std::map<std::string, Differences>& to, const Codes& a, const Codes& b) {
  for (const auto& [name, codes] : a) to[name].add(codes, b.at(name));
}

Comparison compare(const Graph& graph, const IntegerNetwork& network, const Dataset& data) {
  const std::string logits = graph.outputs()[0]->name();
  const auto predictions = [&](const Codes& codes) {
    return dequantize_reference(codes.at(logits), network.type(logits)).argmax(1);
  };
  Executor executor(graph);
  LoadOptions load;
  load.batch_size = kBatch;
  Loader loader(data, load);
  Comparison result;
  while (const std::optional<Batch> batch = loader.next()) {
    const at::Tensor x = batch->inputs.tensor();
    const Codes simulated = simulate(executor, network, x);
    const auto start = std::chrono::steady_clock::now();
    const NamedValues inputs = {{graph.inputs()[0]->name(), RtValue(x)}};
    const Codes integers = network.run(inputs);
    result.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    add_all(result.whole, integers, simulated);
    if (result.images == 0) add_all(result.alone, network.run_beside(inputs, simulated).local, simulated);
    const at::Tensor expected = predictions(simulated);
    result.images += x.size(0);
    result.equal += predictions(integers).eq(expected).sum().item<std::int64_t>();
    result.right += expected.eq(at::tensor(batch->labels)).sum().item<std::int64_t>();
  }
  return result;
}

void print(const IntegerNetwork& order, const Comparison& found) {
  const auto shown = [](const Differences& d) {
    return concat(d.different, " of ", d.codes, ", at most by ", d.largest);
  };
  for (const std::string& name : order.names())
    std::cout << "  " << std::left << std::setw(40) << name << shown(found.whole.at(name)) << "; layer alone "
              << shown(found.alone.at(name)) << "\n";
  std::cout << "  predictions equal on " << found.equal << " of " << found.images << ", simulation right on "
            << found.right << ", " << found.seconds << " s in integers\n";
}

struct Files {
  std::string model, calibration, test;
};

Graph calibrated(const Files& files) {
  QuantizedModel model = prepare_by_platform(import_model(files.model), "onnxruntime");
  calibrate(model, *open_dataset(files.calibration + "&limit=" + std::to_string(kCalibration)));
  return std::move(model.graph);
}

void check(const Graph& graph, const Files& files, Requantize rule, std::int64_t least_equal) {
  std::cout << " " << name_of(rule) << "\n";
  const IntegerNetwork network(graph, rule);
  for (const std::string& name : network.names()) EXPECT_TRUE(network.is_exact(name)) << name;
  const Comparison found = compare(graph, network, *open_dataset(files.test + "&limit=" + std::to_string(kImages)));
  print(network, found);
  EXPECT_EQ(found.images, kImages);
  EXPECT_GE(found.equal, least_equal);
  EXPECT_GT(found.right, kImages * 85 / 100);  // equal predictions of a broken network would prove nothing
  EXPECT_EQ(found.whole.at(graph.inputs()[0]->name() + ".fq").different, 0);  // one division, the same in both
  // Both sides round to the nearest code what differs by the rounding of float32 sums: near a tie to neighbours.
  for (const auto& [name, differences] : found.alone) EXPECT_LE(differences.largest, 1) << name;
}

TEST(IntegerNetwork, DemoModelPredictsAsItsSimulation) {
  const std::string folder = demo_folder();
  const std::string data = "idx:" + folder + "/images.gz?labels=" + folder + "/labels.gz&norm=mnist";
  const Files files{folder + "/fashion_cnn.onnx", data, data};
  const Graph graph = calibrated(files);
  check(graph, files, Requantize::kMlas, kImages * 999 / 1000);
}

// 99.9 % are to be equal, and are here (999 of 1,000 under both rules). `float` is the simulation's own arithmetic but
// for its float32 sums; `mlas` rounds differently, and one code that falls to the other side of a tie grows to a tenth
// of the codes of the last layers. Of all 10,000 test images 6 (float) and 16 (mlas) were predicted differently, each
// with its two largest logits at most two codes apart. The processor decides the order of float32 sums, so the test
// allows what is expected of 1,000 (0.6 and 1.6) and four deviations more: 4 and 7.
TEST(IntegerNetwork, ResNet20PredictsAsItsSimulation) {
  const std::string model = data_file("models/resnet20_cifar10_bn.onnx");
  const std::string calibration = data_file("cifar10/data_batch_1.bin"), test = data_file("cifar10/test_batch.bin");
  if (model.empty() || calibration.empty() || test.empty())
    GTEST_SKIP() << "models/resnet20_cifar10_bn.onnx or cifar10/ is not in the data folder (QUENCH_DATA)";
  const Files files{model, "cifar10:" + calibration + "?norm=imagenet", "cifar10:" + test + "?norm=imagenet"};
  const Graph graph = calibrated(files);
  check(graph, files, Requantize::kFloat, kImages - 4);
  check(graph, files, Requantize::kMlas, kImages - 7);
}

}  // namespace
}  // namespace quench
