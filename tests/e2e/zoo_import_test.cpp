// Every network of the zoo through from_module: same results at a batch size that was never traced, on the
// module's own parameters.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "quench/executor.h"
#include "quench/torch.h"
#include "quench/zoo_net.h"

namespace quench {
namespace {

class ZooImport : public testing::TestWithParam<std::string> {};

TEST_P(ZooImport, GraphEqualsModule) {
  const ZooEntry& entry = ZooRegistry::instance().get(GetParam());
  const std::shared_ptr<ZooNet> net = make_zoo_model(GetParam(), {.seed = 3});
  const auto images = [&](std::int64_t batch) {
    return at::randn({batch, entry.in_channels, entry.image_size, entry.image_size});
  };
  const Graph graph = from_module(net, {images(1)});
  std::size_t parameters = 0;
  for (const auto& item : net->named_parameters()) {
    EXPECT_TRUE(graph.value(item.key()).tensor().is_same(item.value())) << item.key();
    ++parameters;
  }
  EXPECT_EQ(graph.parameters().size(), parameters);
  const c10::AutoGradMode no_grad(false);
  net->eval();
  const at::Tensor x = images(5);
  const at::Tensor expected = net->forward(x);
  const at::Tensor actual = Executor(graph).run({RtValue(x)})[0].tensor();
  EXPECT_TRUE(at::allclose(actual, expected, 1e-4, 1e-4 * expected.abs().max().item<double>()))
      << (actual - expected).abs().max();
}

INSTANTIATE_TEST_SUITE_P(All, ZooImport, testing::ValuesIn(ZooRegistry::instance().names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace quench
