#include "reconstruct/on_device.h"

#include <gtest/gtest.h>

#include "quench/quantizers.h"
#include "reconstruct/nets.h"

namespace quench {
namespace {

// "meta", a device that keeps no data, stands for a GPU.
TEST(OnDevice, WeightsThatAQuantizerReadsAreMoved) {
  const QuantizedModel model = calibrated_net(*random_images(8));
  Graph moved = model.graph.clone();
  move_weights(moved, "meta");
  int weights = 0;
  for (const Value* constant : moved.constants()) {
    const Node* reader = constant->uses().at(0).node;
    const bool is_weight = is_quantizer(reader) && reader->input(0) == constant;
    EXPECT_EQ(constant->tensor().is_meta(), is_weight) << constant->name();
    EXPECT_TRUE(model.graph.value(constant->name()).tensor().is_cpu()) << constant->name();
    weights += is_weight;
  }
  EXPECT_EQ(weights, 6);
}

}  // namespace
}  // namespace quench
