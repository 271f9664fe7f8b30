// The zoo's quantizable models through the eager verbs: fuse_model in one line, whatever the family.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "quench/eager.h"
#include "quench/zoo_net.h"

namespace quench {
namespace {

int relus_in(const FuseLists& lists) {
  int count = 0;
  for (const auto& list : lists) count += list.size() == 3 || list.back().ends_with("activation");
  return count;
}

int nodes_of(const Graph& graph, const std::string& op) {
  int count = 0;
  for (const auto& node : graph.nodes()) count += node->op() == op;
  return count;
}

TEST(EagerZoo, EveryFamilyFusesAndPrepares) {
  for (const char* name : {"mobilenet_v2", "mobilenet_v3_small", "resnet18", "googlenet", "shufflenet_v2_x0_5"}) {
    const auto net = make_zoo_model(name, {.num_classes = 5, .quantizable = true});
    replace_relu6(*net);
    net->eval();
    EagerModel model(net, {at::randn({1, 3, 64, 64})});
    model.qconfig.set_global(get_default_qconfig("fbgemm"));
    const FuseLists lists = fusible_modules(*net);
    model = fuse_modules(model, lists);
    const PreparedModel prepared = prepare(model);
    const Graph& graph = prepared.graph();
    EXPECT_EQ(nodes_of(graph, "BatchNormalization"), 0) << name;
    EXPECT_EQ(prepared.plan().count(Role::kWeight), nodes_of(graph, "Conv") + nodes_of(graph, "Gemm")) << name;
    // No quantizer between a layer and the ReLU that it was fused with.
    int fused = 0;
    for (const auto& node : graph.nodes())
      if (node->op() == "Relu" && node->inputs()[0]->producer() && node->inputs()[0]->producer()->op() == "Conv")
        ++fused;
    EXPECT_EQ(fused, relus_in(lists)) << name;
  }
}

TEST(EagerZoo, BringsItsOwnFuseModel) {
  const auto net = make_zoo_model("mobilenet_v2", {.quantizable = true});
  net->eval();
  EagerModel model(net, {at::randn({1, 3, 32, 32})});
  fuse_model(model);
  EXPECT_EQ(model.fused.size(),
            fuse_modules(EagerModel(net, {at::randn({1, 3, 32, 32})}), fusible_modules(*net)).fused.size());
  EXPECT_EQ(model.fused.size(), 52U);
}

TEST(EagerZoo, IsFusedForTrainingInTrainingMode) {
  const auto net = make_zoo_model("resnet20_cifar", {.quantizable = true});
  const EagerModel model(net, {at::randn({1, 3, 32, 32})});
  EXPECT_EQ(fuse_modules(model, fusible_modules(*net), /*is_qat=*/true).fused.size(), 19U);
}

}  // namespace
}  // namespace quench
