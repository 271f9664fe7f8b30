#include "quantized/node_spec.h"

#include <gtest/gtest.h>

#include "fake_quant/samples.h"
#include "quench/quantizers.h"
#include "support/expect_error.h"

namespace quench {
namespace {

Graph one_quantizer() {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2, 3}));
  graph.add_output(graph.add("Relu", "relu", {&x}).output());
  insert_fake_quant(graph, x, spec_of("fixed", "int8 symmetric tensor"));
  return graph;
}

TEST(NodeSpec, OptionsMayNotBeCalledAsAttributesAre) {
  check_option_names("mine", {{"bias", 0.0, ""}});
  for (const char* name : {"algorithm", "role", "scheme", "quantize_by", "observe", "quantize"})
    EXPECT_ERROR(check_option_names("mine", {{name, 0.0, ""}}), concat("'mine' declares the option '", name, "'"));
}

TEST(NodeSpec, IsParsedOnce) {
  Graph graph = one_quantizer();
  const Node& node = *graph.find_node("x.fq");
  const std::shared_ptr<const FakeQuant> algorithm = fake_quant_of(node);
  EXPECT_EQ(fake_quant_of(node), algorithm);
  set_state(graph, std::nullopt, {.quantize = true});
  EXPECT_EQ(fake_quant_of(node), algorithm) << "flags are no part of it";
  const Graph copy = graph;
  EXPECT_EQ(fake_quant_of(*copy.find_node("x.fq")), algorithm);
}

TEST(NodeSpec, IsParsedAgainWhenItHasChanged) {
  Graph graph = one_quantizer();
  const Graph copy = graph;
  Node& node = *graph.find_node("x.fq");
  ASSERT_EQ(fake_quant_spec(node).scheme.bits(), 8);
  node.attrs["scheme"] = std::string("int4 symmetric tensor");
  EXPECT_EQ(fake_quant_spec(node).scheme.bits(), 4);
  EXPECT_EQ(fake_quant_of(node)->scheme().bits(), 4);
  EXPECT_EQ(fake_quant_spec(*copy.find_node("x.fq")).scheme.bits(), 8);
}

// Options of an algorithm that it no longer has must not stay behind.
TEST(NodeSpec, ANewSpecReplacesTheOldOne) {
  Graph graph = one_quantizer();
  Node& node = *graph.find_node("x.fq");
  const FakeQuantSpec dsq = spec_of("dsq", "int4 symmetric tensor", Role::kActivation, Options({{"alpha", 0.25}}));
  set_fake_quant_flags(node, {.quantize = true});
  set_fake_quant_spec(node, dsq);
  EXPECT_EQ(fake_quant_spec(node), dsq);
  set_fake_quant_spec(node, spec_of("fixed", "int8 symmetric tensor"));
  EXPECT_FALSE(node.has("alpha"));
  EXPECT_TRUE(is_on(node));
}

TEST(QuantizerName, AndBack) {
  EXPECT_EQ(quantized_value(quantizer_name("conv.weight")), "conv.weight");
  EXPECT_EQ(quantized_value("x.fq.scale"), "x");
  EXPECT_EQ(quantized_value("my.fqdn"), "my.fqdn");
  EXPECT_EQ(quantized_value("x"), "x");
}

}  // namespace
}  // namespace quench
