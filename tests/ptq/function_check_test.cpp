#include "ptq/function_check.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "quench/error.h"

namespace quench {
namespace {

Graph two_layers() {
  return parse_graph(R"(graph "g" {
    input %x : float["N", 2]
    const %w : float[3, 2] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
    const %v : float[2, 3] = {0.5, 0.1, 0.2, 0.7, 0.3, 0.9}
    %first = Gemm "first" (%x, %w) {transB = 1} : float["N", 3]
    %second = Gemm "second" (%first, %v) {transB = 1} : float["N", 2]
    output %second
  })");
}

TEST(FunctionCheck, KnowsAScaleThatWasMovedFromOneThatWasLost) {
  Graph graph = two_layers();
  const FunctionCheck check(graph, check_inputs(graph, nullptr), {"first"});
  const at::Tensor c = at::tensor({3.0, 0.2, 7.0});
  graph.set_tensor(graph.value("w"), graph.value("w").tensor() / c.reshape({3, 1}).to(at::kFloat));
  const std::map<std::string, at::Tensor> factors = {{"first", c.reshape({1, 3})}};
  auto differences = check.compare(graph, factors);
  ASSERT_EQ(differences.size(), 2u);
  EXPECT_FALSE(differences[0].broken());  // first, in its old units
  EXPECT_EQ(differences[1].value, "second");
  EXPECT_TRUE(differences[1].broken());
  graph.set_tensor(graph.value("v"), graph.value("v").tensor() * c.reshape({1, 3}).to(at::kFloat));
  differences = check.compare(graph, factors);
  EXPECT_FALSE(differences[1].broken()) << differences[1].found;
  EXPECT_TRUE(check.compare(graph, {})[0].broken());
}

TEST(FunctionCheck, BoundsAreWhatTheSumsExplain) {
  const Graph graph = two_layers();
  const auto differences = FunctionCheck(graph, check_inputs(graph, nullptr), {"first"}).compare(graph, {});
  EXPECT_EQ(differences[0].bound, 2 * 0x1p-24);  // two terms, then three more
  EXPECT_EQ(differences[1].bound, 5 * 0x1p-24);
  EXPECT_EQ(differences[1].found, 0.0);
}

TEST(FunctionCheck, WantsDataWhereRandomNumbersHaveNoShape) {
  Graph graph = two_layers();
  graph.value("x").set_type(TypeInfo::tensor(DType::kFloat));
  try {
    check_inputs(graph, nullptr);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("give data to check on"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace quench
