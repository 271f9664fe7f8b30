#include "ops/clamp.h"

#include <gtest/gtest.h>

#include "quench/error.h"

namespace quench {
namespace {

const double kInfinity = std::numeric_limits<double>::infinity();

Graph graph_of(const std::string& op, const std::string& inputs) {
  return parse_graph(concat("graph \"g\" {\n  input %x : float[2]\n  input %computed : float[]\n",
                            "  const %zero : float[] = {0.0}\n  const %six : float[1] = {6.0}\n",
                            "  const %two : float[2] = {1.0, 2.0}\n  %y = ", op, " \"node\" (", inputs,
                            ")\n  output %y\n}"));
}

void expect_clamp(const std::string& op, const std::string& inputs, const Clamp& expected) {
  const Graph graph = graph_of(op, inputs);
  const Clamp clamp = clamp_of(*graph.value("y").producer());
  EXPECT_EQ(clamp.known, expected.known) << op << " " << inputs;
  EXPECT_EQ(clamp.low, expected.low) << op << " " << inputs;
  EXPECT_EQ(clamp.high, expected.high) << op << " " << inputs;
}

TEST(Clamp, BoundsAreThoseOfReluAndClip) {
  expect_clamp("Relu", "%x", {0.0, kInfinity, true});
  expect_clamp("Clip", "%x", {-kInfinity, kInfinity, true});
  expect_clamp("Clip", "%x, %zero, %six", {0.0, 6.0, true});
  expect_clamp("Clip", "%x, _, %six", {-kInfinity, 6.0, true});
}

TEST(Clamp, BoundsThatAreNoNumbersAreNotKnown) {
  expect_clamp("Clip", "%x, %zero, %computed", {0.0, kInfinity, false});
  expect_clamp("Clip", "%x, %two, %six", {-kInfinity, 6.0, false});
  expect_clamp("Sigmoid", "%x", {-kInfinity, kInfinity, false});
}

TEST(Clamp, Relu6IsTheClipToSix) {
  const auto is = [](const char* op, const char* inputs) {
    const Graph graph = graph_of(op, inputs);
    return is_relu6(*graph.value("y").producer());
  };
  EXPECT_TRUE(is("Clip", "%x, %zero, %six"));
  EXPECT_FALSE(is("Clip", "%x, %zero"));
  EXPECT_FALSE(is("Clip", "%x, %zero, %computed"));
  EXPECT_FALSE(is("Relu", "%x"));
}

}  // namespace
}  // namespace quench
