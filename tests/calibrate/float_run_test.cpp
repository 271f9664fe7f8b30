#include "calibrate/float_run.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "calibrate/small_graph.h"
#include "quench/prepare.h"

namespace quench {
namespace {

TEST(FloatRun, ShowsAValueToAllWhoWatchIt) {
  const QuantizedModel model = quantized_model();
  const at::Tensor x = whole({2, 3, 8, 8}, 1, 6);
  const std::string input = model.graph.inputs()[0]->name();
  std::vector<at::Tensor> seen;
  const auto keep = [&](const at::Tensor& value) { seen.push_back(value.clone()); };
  FloatRun network(model.graph, {{"relu1", true, keep}, {"relu1", false, keep}, {input, false, keep}}, "cpu");
  network.run({{input, RtValue(x)}});
  ASSERT_EQ(seen.size(), 3u);
  const Graph plain = without_quantizers(model.graph);
  const at::Tensor wanted = Executor(plain).run({{input, RtValue(x)}}, {"relu1"}).at("relu1").tensor();
  for (const at::Tensor& one : seen) EXPECT_TRUE(at::equal(one, x) || at::allclose(one, wanted)) << one.sizes();
}

TEST(FloatRun, ShowsWhatFollowsFromConstants) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), Dim(2)}));
  Value& c = graph.add_constant("c", at::tensor({1.0F, -2.0F}).unsqueeze(0));
  Value& r = graph.add("Relu", "r", {&c}).output();
  graph.add_output(graph.add("Add", "z", {&x, &r}).output());
  run_passes(graph, {"infer_shapes"});
  int times = 0;
  FloatRun network(graph,
                   {{"r", false,
                     [&](const at::Tensor& r) {
                       ++times;
                       EXPECT_TRUE(at::equal(r, at::tensor({1.0F, 0.0F}).unsqueeze(0)));
                     }},
                    {"z", false, [](const at::Tensor&) {}}},
                   "cpu");
  for (int i = 0; i < 2; ++i) network.run({{"x", RtValue(at::ones({3, 2}))}});
  EXPECT_EQ(times, 2);
}

}  // namespace
}  // namespace quench
