#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "import/one_node.h"

namespace quench {
namespace {

TEST(UpgradeBroadcast, LinesUpAtTheAxis) {
  EXPECT_EQ(OneNode("Add", {{2, 3, 4, 5}, {3, 4}}, {{"broadcast", integer(1)}, {"axis", integer(1)}}).upgraded_from(6),
            "n_Unsqueeze = Unsqueeze(y, {2}); out = Add(x, n_Unsqueeze)");
  EXPECT_EQ(OneNode("Mul", {{2, 3, 4, 5}, {2}}, {{"broadcast", integer(1)}, {"axis", integer(0)}}).upgraded_from(6),
            "n_Unsqueeze = Unsqueeze(y, {1, 2, 3}); out = Mul(x, n_Unsqueeze)");
  EXPECT_EQ(OneNode("Sub", {{2, 3, 4, 5}, {4, 5}}, {{"broadcast", integer(1)}, {"axis", integer(2)}}).upgraded_from(6),
            "out = Sub(x, y)");
  EXPECT_EQ(OneNode("Less", {{2, 3}, {3}}, {{"broadcast", integer(1)}}).upgraded_from(1), "out = Less(x, y)");
}

TEST(UpgradeBroadcast, NeedsTheRanks) {
  OneNode one("Add", {{"broadcast", integer(1)}, {"axis", integer(1)}});
  one.graph.set_input(*one.node, 1, one.node->input(0));
  EXPECT_EQ(message_of([&] { one.upgraded_from(6); }),
            "with axis=1 the ranks of both inputs must be known\n  while upgrading node 'n' (Add) to opset 7");
}

TEST(UpgradeBroadcast, GemmNeedNotAsk) {
  EXPECT_EQ(OneNode("Gemm", {{2, 3}, {3, 4}, {4}}, {{"broadcast", integer(1)}, {"alpha", 2.0}}).upgraded_from(6),
            "out = Gemm(x, y, z) alpha=2");
}

TEST(UpgradeLegacy, AttributesThatMeantNothingGo) {
  EXPECT_EQ(OneNode("Sigmoid", {{"consumed_inputs", Ints{0}}}).upgraded_from(1), "out = Sigmoid(x)");
  EXPECT_EQ(OneNode("LSTM", {{5, 1, 3}, {1, 16, 3}, {1, 16, 4}},
                    {{"output_sequence", integer(1)}, {"hidden_size", integer(4)}})
                .upgraded_from(1),
            "out = LSTM(x, y, z) hidden_size=4");
}

TEST(UpgradeLegacy, TypesWereNames) {
  EXPECT_EQ(OneNode("Cast", {{"to", std::string("INT64")}}).upgraded_from(1), "out = Cast(x) to=7");
}

TEST(UpgradeLegacy, PowersWereFloats) {
  EXPECT_EQ(OneNode("GlobalLpPool", {{"p", 3.0}}).upgraded_from(1), "out = GlobalLpPool(x) p=3");
  EXPECT_EQ(message_of([] { OneNode("LpPool", {{"p", 2.5}}).upgraded_from(1); }),
            "p=2.5 is not a whole number, as opset 2 demands\n  while upgrading node 'n' (LpPool) to opset 2");
}

TEST(UpgradeSignal, DftTakesItsAxis) {
  EXPECT_EQ(OneNode("DFT", {{"onesided", integer(1)}}).upgraded_from(17), "out = DFT(x, -, {1}) onesided=1");
  EXPECT_EQ(OneNode("DFT", {{"axis", integer(2)}}).upgraded_from(19), "out = DFT(x, -, {2})");
}

}  // namespace
}  // namespace quench
