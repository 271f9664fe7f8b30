// A no-grad run frees each tensor after its last use: ResNet-18 at batch 32 needs little more than its
// two largest live tensors, the weights and the library itself.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdio>
#include <fstream>

#include "quench/executor.h"
#include "quench/pass.h"
#include "quench/torch.h"
#include "quench/zoo_net.h"

namespace quench {
namespace {

constexpr double kMega = 1024.0 * 1024.0;

double status_megabytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word)
    if (word == key + ":") {
      double kilobytes = 0;
      status >> kilobytes;
      return kilobytes / 1024.0;
    }
  return -1;
}

void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

// The largest sum, over all nodes, of what a node reads and makes: what any executor must hold at once.
double largest_live_pair(const Graph& graph, const at::Tensor& x) {
  std::map<std::string, double> size;
  Executor executor(graph);
  executor.on_every_value([&](const Value& value, RtValue& result) {
    size[value.name()] = static_cast<double>(result.tensor().nbytes()) / kMega;
    return Next::kContinue;
  });
  executor.run({RtValue(x)});
  double largest = 0;
  for (const auto& node : graph.nodes()) {
    double live = 0;
    for (const Value* input : node->inputs())
      if (input && !input->is_constant()) live += size[input->name()];
    for (const Value* output : node->outputs()) live += output ? size[output->name()] : 0;
    largest = std::max(largest, live);
  }
  return largest;
}

TEST(PeakMemory, OfResNet18AtBatch32IsNearTheLargestTwoLiveTensors) {
  double weights = 0;
  Graph graph;
  {
    auto net = make_zoo_model("resnet18");
    net->eval();
    graph = from_module(*net, {at::zeros({1, 3, 224, 224})});
  }
  for (const Value* constant : graph.constants()) weights += static_cast<double>(constant->tensor().nbytes()) / kMega;
  run_passes(graph, inference_passes());
  const at::Tensor x = at::randn({32, 3, 224, 224});
  const double live = largest_live_pair(graph, x);
  malloc_trim(0);
  const double library = status_megabytes("VmRSS") - weights - static_cast<double>(x.nbytes()) / kMega;
  reset_peak();
  Executor executor(graph, {.channels_last = true});
  executor.run({RtValue(x)});
  const double peak = status_megabytes("VmHWM");
  const double bound = 1.3 * (live + weights + library);
  std::printf("peak %.0f MB; live pair %.0f + weights %.0f + library %.0f = %.0f MB; ratio %.2f (bound 1.3)\n", peak,
              live, weights, library, live + weights + library, peak / (live + weights + library));
  EXPECT_LE(peak, bound);
}

}  // namespace
}  // namespace quench
