// Fast bias correction gives the same bits whatever the number of threads.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "calibrate/small_graph.h"
#include "quench/calibrate.h"
#include "quench/op.h"
#include "quench/prepare.h"
#include "quench/ptq.h"

namespace quench {
namespace {

// x[N, 64, 40, 40] -> Conv 1x1 -> Relu -> Conv 3x3 -> Relu: LibTorch and oneDNN compute them by other kernels where
// there are other threads.
Graph squeezing_network() {
  at::manual_seed(12);
  Graph graph;
  Value* x = &graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 64, 40, 40}));
  std::int64_t channels = 64;
  for (const std::int64_t side : {1, 3}) {
    const std::string name = concat("conv", side);
    const std::int64_t next = side == 1 ? 16 : 64;
    Value& w = graph.add_constant(name + ".w", at::randn({next, channels, side, side}) / 8);
    Node& conv = graph.add("Conv", name, {x, &w, &graph.add_constant(name + ".b", at::randn({next}))});
    x = &graph.add("Relu", name + ".relu", {&conv.output()}).output();
    channels = next;
  }
  graph.add_output(*x);
  infer_shapes(graph);
  return graph;
}

std::map<std::string, at::Tensor> corrected(const Dataset& data, int threads) {
  at::set_num_threads(threads);
  QuantizedModel model = prepare_by_platform(squeezing_network(), "onnxruntime", {});
  calibrate(model, data);
  BiasCorrectionOptions options;
  options.kind = BiasCorrection::kFast;
  EXPECT_TRUE(correct_biases(model, data, options).changed());
  std::map<std::string, at::Tensor> found;
  for (const Value* value : model.graph.constants()) found[value->name()] = value->tensor();
  return found;
}

// All threads computed a single slice, and each layer's shift: last bits followed their number.
TEST(BiasCorrection, AnyNumberOfThreadsGivesTheSameBits) {
  const int threads = at::get_num_threads();
  at::manual_seed(13);
  const at::Tensor images = at::randn({70, 64, 40, 40});
  for (const std::int64_t items : {1, 7, 70}) {
    const TensorData data(images.slice(0, 0, items));
    const std::map<std::string, at::Tensor> wanted = corrected(data, 1);
    for (const int count : {2, 3})
      for (const auto& [name, tensor] : corrected(data, count))
        EXPECT_TRUE(at::equal(tensor, wanted.at(name))) << items << " items, " << count << " threads: " << name;
  }
  at::set_num_threads(threads);
}

}  // namespace
}  // namespace quench
