#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "quench/error.h"
#include "quench/executor.h"
#include "quench/op.h"
#include "quench/pass.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

// x -> lsq -> Conv -> y, quantizing, its scale a parameter; as it is or without the gradient of x.
struct InputConv {
  InputConv(const std::string& scheme, bool skips, QuantizeBy by = QuantizeBy::kReciprocal) {
    at::manual_seed(2);
    Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2, 3, 9, 9}));
    Value &w = graph.add_constant("w", at::randn({4, 3, 3, 3})), &b = graph.add_constant("b", at::randn({4}));
    Node& conv = graph.add("Conv", "conv", {&x, &w, &b});
    conv.attrs["strides"] = std::vector<std::int64_t>{2, 1};
    conv.attrs["pads"] = std::vector<std::int64_t>{1, 0, 1, 2};
    graph.add_output(conv.output());
    insert_fake_quant(graph, x, {"lsq", QScheme::parse(scheme), Role::kActivation, by, {}}, {.quantize = true});
    graph.value("x.fq.scale").tensor().detach().fill_(0.11F);
    if (!QScheme::parse(scheme).symmetric()) graph.value("x.fq.zero_point").tensor().detach().fill_(3.0F);
    w.set_parameter(true);
    for (const Value* value : graph.parameters()) value->tensor().requires_grad_();
    if (skips) EXPECT_EQ(run_passes(graph, {"skip_input_gradients"})[0].changes, 1);
  }

  at::Tensor run(const at::Tensor& x) const {
    ExecOptions options;
    options.grad = options.training = true;
    return Executor(graph, options).run({RtValue(x)})[0].tensor();
  }
  at::Tensor gradient(const char* name) const { return graph.value(name).tensor().grad(); }

  Graph graph;
};

at::Tensor images() {
  at::manual_seed(9);
  return at::randn({2, 3, 9, 9});
}

TEST(ConvOfInput, GivesTheGradientsOfTheTwoNodes) {
  for (const char* scheme : {"int4 symmetric tensor", "uint4 affine tensor"})
    for (const QuantizeBy by : {QuantizeBy::kReciprocal, QuantizeBy::kDivision}) {
      const InputConv plain(scheme, false, by), skipping(scheme, true, by);
      const at::Tensor y = plain.run(images()), same = skipping.run(images());
      EXPECT_TRUE(at::equal(y, same));
      const at::Tensor dy = at::randn_like(y);
      y.backward(dy);
      same.backward(dy);
      EXPECT_TRUE(at::equal(plain.gradient("w"), skipping.gradient("w")));
      const auto wanted = plain.gradient("x.fq.scale").item<double>();
      // Sums of 27 products each, of which 360 and 486 are added up, in float and in another order.
      EXPECT_NEAR(skipping.gradient("x.fq.scale").item<double>(), wanted, 1e-4 * std::abs(wanted) + 1e-5);
      EXPECT_GT(std::abs(wanted), 1e-2) << "shows nothing";
    }
}

TEST(ConvOfInput, GivesTheGradientOfAnInputThatWantsOne) {
  const InputConv plain("int4 symmetric tensor", false), skipping("int4 symmetric tensor", true);
  const at::Tensor x = images().requires_grad_(), same = images().requires_grad_();
  plain.run(x).sum().backward();
  skipping.run(same).sum().backward();
  EXPECT_TRUE(at::equal(x.grad(), same.grad()));
  EXPECT_TRUE(at::equal(plain.gradient("x.fq.scale"), skipping.gradient("x.fq.scale")));
}

TEST(ConvOfInput, IsAConvWhileNothingIsQuantized) {
  InputConv plain("int4 symmetric tensor", false), skipping("int4 symmetric tensor", true);
  set_state(plain.graph, std::nullopt, {});
  set_state(skipping.graph, std::nullopt, {});
  const at::Tensor y = skipping.run(images());
  EXPECT_TRUE(at::equal(y, plain.run(images())));
  y.sum().backward();
  EXPECT_FALSE(skipping.gradient("x.fq.scale").defined());
}

TEST(ConvOfInput, NeedsTheQuantizerInFront) {
  InputConv skipping("int4 symmetric tensor", true);
  Node& conv = *skipping.graph.find_node("conv");
  Node& negated = skipping.graph.insert_before(conv, "Neg", "negated", {conv.input(0)});
  skipping.graph.set_input(conv, 0, &negated.output());
  try {
    skipping.run(images());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("its first input must come from a quantizer"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace quench
