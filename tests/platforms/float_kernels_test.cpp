#include <gtest/gtest.h>

#include "platforms/small_graph.h"

namespace quench {
namespace {

std::vector<std::string> notes_for(const char* platform, int weight_bits, int activation_bits) {
  QuantConfig config = config_for(platform);
  config.weight.bits = weight_bits;
  config.activation.bits = activation_bits;
  return float_kernel_notes(make_plan(small_graph(), config));
}

// Once a bug: 4-bit weights made no integer kernel in ONNX Runtime, and nothing said so. What it really runs is counted
// by RuntimeFusion.OnnxRuntimeHasNoKernelsForOtherBits.
TEST(FloatKernels, OnnxRuntimeHasThemForFourAndSixteenBits) {
  EXPECT_TRUE(notes_for("onnxruntime", 8, 8).empty());
  EXPECT_TRUE(notes_for("onnxruntime", 5, 8).empty());
  EXPECT_EQ(
      notes_for("onnxruntime", 4, 8),
      std::vector<std::string>{"ONNX Runtime stores weights of 4 bits and fewer as int4 and computes these layers "
                               "in float: 3 tensors ('conv1.weight' ...)"});
  const std::vector<std::string> wide = notes_for("onnxruntime", 8, 16);
  ASSERT_EQ(wide.size(), 1u);
  EXPECT_TRUE(wide[0].starts_with("ONNX Runtime computes layers with 16-bit activations in float: ")) << wide[0];
}

TEST(FloatKernels, OtherPlatformsSayNothing) { EXPECT_TRUE(notes_for("openvino", 4, 8).empty()); }

}  // namespace
}  // namespace quench
