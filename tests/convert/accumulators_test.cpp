#include "convert/accumulators.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "convert/converted.h"

namespace quench {
namespace {

// A Gemm of `features` products of uint16 codes.
QuantizedModel linear(std::int64_t features) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), Dim(features)}));
  Node& gemm = graph.add("Gemm", "fc", {&x, &graph.add_constant("w", at::ones({2, features}))});
  gemm.attrs["transB"] = std::int64_t{1};
  graph.add_output(graph.add("Identity", "end", {&gemm.output()}).output());
  run_passes(graph, {"infer_shapes"});
  QuantPlan plan;
  plan.entries = {plan_entry("x", "uint16 affine tensor"), plan_entry("w", "int8 symmetric tensor"),
                  plan_entry("fc", "uint16 affine tensor")};
  QuantizedModel model = insert_quantizers(graph, plan);
  calibrate(model, TensorData(at::arange(4 * features).to(at::kFloat).reshape({4, features})), {});
  return model;
}

TEST(Accumulators, AreProvedFromTheWeights) {
  // 127 * 65535 each: 258 of them fit 2^31 - 1, 259 do not.
  ConvertRecord fits, overflows;
  convert(linear(258), {}, &fits);
  convert(linear(259), {}, &overflows);
  EXPECT_TRUE(fits.warnings.empty());
  EXPECT_NEAR(fits.largest_accumulator, 258.0 * 127 * 65535 / 2147483647.0, 1e-6);
  ASSERT_EQ(overflows.warnings.size(), 1U);
  EXPECT_NE(overflows.warnings[0].find("node 'fc' (quench.QGemm)"), std::string::npos);
}

}  // namespace
}  // namespace quench
