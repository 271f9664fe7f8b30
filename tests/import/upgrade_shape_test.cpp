#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "import/one_node.h"

namespace quench {
namespace {

TEST(UpgradeShape, SliceTakesInputs) {
  EXPECT_EQ(OneNode("Slice", {{"starts", Ints{0, 1}}, {"ends", Ints{5, -1}}, {"axes", Ints{1, 2}}}).upgraded_from(9),
            "out = Slice(x, {0, 1}, {5, -1}, {1, 2})");
  EXPECT_EQ(OneNode("Slice", {{"starts", Ints{0}}, {"ends", Ints{5}}}).upgraded_from(7), "out = Slice(x, {0}, {5})");
}

TEST(UpgradeShape, PadTakesInputs) {
  EXPECT_EQ(OneNode("Pad", {{"pads", Ints{0, 1}}, {"mode", std::string("edge")}}).upgraded_from(10),
            "out = Pad(x, {0, 1}) mode=edge");
  EXPECT_EQ(OneNode("Pad", {{"pads", Ints{0, 1}}, {"value", 1.5}}).upgraded_from(2), "out = Pad(x, {0, 1}, {1.5})");
  EXPECT_EQ(OneNode("Pad", {{"paddings", Ints{0, 1}}}).upgraded_from(1), "out = Pad(x, {0, 1})");
}

TEST(UpgradeShape, PadValueHasTheTypeOfTheData) {
  OneNode one("Pad", {{"pads", Ints{0, 1}}, {"value", 2.0}});
  one.graph.value("x").set_type(TypeInfo::tensor(DType::kFloat16));
  one.upgraded_from(10);
  EXPECT_EQ(one.node->input(2)->type().text(), "float16[]");
}

TEST(UpgradeShape, SplitSaysSizesOrCount) {
  EXPECT_EQ(OneNode("Split", {{"split", Ints{1, 2}}}, 2).upgraded_from(12), "out, out1 = Split(x, {1, 2})");
  EXPECT_EQ(OneNode("Split", {{"axis", integer(1)}}, 3).upgraded_from(11),
            "out, out1, out2 = Split(x) axis=1 num_outputs=3");
  EXPECT_EQ(OneNode("Split", {}, 2).upgraded_from(13), "out, out1 = Split(x) num_outputs=2");
}

TEST(UpgradeShape, TopKTakesK) {
  EXPECT_EQ(OneNode("TopK", {{"k", integer(3)}}, 2).upgraded_from(9), "out, out1 = TopK(x, {3})");
}

TEST(UpgradeShape, ReshapeOfOpsetOne) {
  EXPECT_EQ(OneNode("Reshape", {{"shape", Ints{0, -1}}}).upgraded_from(1), "out = Reshape(x, {0, -1})");
}

TEST(UpgradeShape, TileOfOpsetOneNeedsConstants) {
  OneNode one("Tile", {{2, 3}}, {});
  Value& tiles = one.graph.add_constant("tiles", at::scalar_tensor(4.0F));
  Value& axis = one.graph.add_constant("axis", at::scalar_tensor(1.0F));
  one.graph.set_inputs(*one.node, {one.node->input(0), &tiles, &axis});
  EXPECT_EQ(one.upgraded_from(1), "out = Tile(x, {1, 4})");
  EXPECT_EQ(message_of([] { OneNode("Tile", {{2, 3}, {}, {}}, {}).upgraded_from(5); }),
            "tiles and axis must be constants\n  while upgrading node 'n' (Tile) to opset 6");
}

TEST(UpgradeShape, ConcatSaysItsAxis) {
  EXPECT_EQ(OneNode("Concat", {{2, 2}, {2, 2}}, {}).upgraded_from(3), "out = Concat(x, y) axis=1");
  EXPECT_EQ(OneNode("Concat", {{2, 2}, {2, 2}}, {{"axis", integer(0)}}).upgraded_from(3), "out = Concat(x, y) axis=0");
}

TEST(UpgradeShape, ScatterIsCalledScatterElements) {
  EXPECT_EQ(OneNode("Scatter", {{2}, {2}, {2}}, {{"axis", integer(0)}}).upgraded_from(9),
            "out = ScatterElements(x, y, z) axis=0");
}

}  // namespace
}  // namespace quench
