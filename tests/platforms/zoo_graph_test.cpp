#include "platforms/zoo_graph.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "quench/pass.h"
#include "quench/torch.h"
#include "quench/zoo_net.h"

namespace quench {

const Graph& zoo_graph(const std::string& name) {
  static std::map<std::string, Graph> graphs;
  auto at = graphs.find(name);
  if (at == graphs.end()) {
    ModuleImportOptions options;
    options.check = false;
    const std::int64_t size = name == "tiny_vit" ? 96 : 64;  // its position embedding fits no other
    at = graphs.emplace(name, from_module(make_zoo_model(name), {at::zeros({1, 3, size, size})}, options)).first;
    run_passes(at->second, cleanup_passes());
    run_passes(at->second, {"eliminate_dropout", "eliminate_identity", "eliminate_dead"});
  }
  return at->second;
}

namespace {

int count_ops(const Graph& graph, const std::string& op) {
  int count = 0;
  for (const auto& node : graph.nodes()) count += node->op() == op ? 1 : 0;
  return count;
}

// What the counts of docs/platforms.md 4 start from.
TEST(ZooGraph, KeepsBatchNormAndHasNoDropout) {
  EXPECT_EQ(count_ops(zoo_graph("resnet18"), "BatchNormalization"), 20);
  EXPECT_EQ(count_ops(zoo_graph("mobilenet_v2"), "BatchNormalization"), 52);
  EXPECT_EQ(count_ops(zoo_graph("mobilenet_v2"), "Dropout"), 0);
}

}  // namespace
}  // namespace quench
