// quench.FakeQuant in a graph: placed by hand, run, trained, written to a file and read back.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "fake_quant/samples.h"
#include "quench/executor.h"
#include "quench/export.h"
#include "quench/graph.h"
#include "quench/import.h"
#include "quench/op.h"
#include "quench/pass.h"
#include "quench/quantizers.h"
#include "support/expect_error.h"

namespace quench {
namespace {

// x -> Conv -> Relu -> y
Graph conv_relu() {
  Graph graph;
  graph.name = "conv_relu";
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 3, 8, 8}));
  Value& weight = graph.add_constant("conv.weight", sample({4, 3, 3, 3}, 7));
  weight.set_parameter(true);
  Node& conv = graph.add("Conv", "conv", {&x, &weight});
  graph.add_output(graph.add("Relu", "relu", {&conv.output()}).output());
  infer_shapes(graph);
  return graph;
}

const FakeQuantSpec kWeightSpec = spec_of("lsq", "int4 symmetric channel:0", Role::kWeight);

// With a quantizer on the weight and one on the result.
Graph quantized(const FakeQuantSpec& activation) {
  Graph graph = conv_relu();
  insert_fake_quant(graph, graph.value("conv.weight"), kWeightSpec, {.quantize = true});
  insert_fake_quant(graph, graph.value("relu"), activation, {.quantize = true});
  const at::Tensor weight = graph.value("conv.weight").tensor();
  graph.value("conv.weight.fq.scale").tensor().detach().copy_(weight.abs().amax({1, 2, 3}) / 7.5);
  graph.value("relu.fq.scale").tensor().detach().fill_(0.1);
  graph.verify();
  return graph;
}

at::Tensor run(const Graph& graph, const at::Tensor& x) { return Executor(graph).run({RtValue(x)})[0].tensor(); }

TEST(FakeQuantNode, ChangesNothingWithBothFlagsOff) {
  const Graph plain = conv_relu();
  Graph graph = conv_relu();
  for (const char* value : {"x", "conv.weight", "conv", "relu"})
    insert_fake_quant(graph, graph.value(value), spec_of("fixed", "int8 symmetric tensor"));
  graph.verify();
  const at::Tensor x = sample({2, 3, 8, 8});
  EXPECT_TRUE(at::equal(run(graph, x), run(plain, x)));
}

// The attributes are parsed once, and again when they change: a loop of reconstruction switches modes that way.
TEST(FakeQuantNode, AnExecutorFollowsItsAttributes) {
  Graph graph = quantized(spec_of("fixed", "uint8 symmetric tensor"));
  const at::Tensor x = sample({2, 3, 8, 8});
  Executor executor(graph);
  const at::Tensor eight = executor.run({RtValue(x)})[0].tensor();
  EXPECT_TRUE(at::equal(executor.run({RtValue(x)})[0].tensor(), eight));
  set_fake_quant_spec(*graph.find_node("relu.fq"), spec_of("fixed", "uint2 symmetric tensor"));
  const at::Tensor two = executor.run({RtValue(x)})[0].tensor();
  EXPECT_FALSE(at::equal(two, eight));
  EXPECT_TRUE(at::equal(two, run(graph, x)));
}

TEST(FakeQuantNode, QuantizesWhatItIsGiven) {
  const Graph graph = quantized(spec_of("fixed", "uint8 symmetric tensor"));
  const Graph plain = conv_relu();
  const at::Tensor x = sample({2, 3, 8, 8}), weight = graph.value("conv.weight").tensor();
  const at::Tensor fake = at::fake_quantize_per_channel_affine(
      weight, graph.value("conv.weight.fq.scale").tensor().detach(), at::zeros({4}, at::kInt), 0, -8, 7);
  const at::Tensor expected = at::fake_quantize_per_tensor_affine(at::relu(at::conv2d(x, fake)), 0.1F, 0, 0, 255);
  EXPECT_TRUE(at::equal(run(graph, x), expected));
  EXPECT_FALSE(at::equal(run(graph, x), run(plain, x)));
}

TEST(FakeQuantNode, Trains) {
  const Graph graph = quantized(spec_of("lsq", "uint8 symmetric tensor"));
  std::vector<std::string> learned;
  for (const Value* parameter : graph.parameters()) {
    parameter->tensor().requires_grad_();
    learned.push_back(parameter->name());
  }
  EXPECT_EQ(learned, std::vector<std::string>({"conv.weight", "conv.weight.fq.scale", "relu.fq.scale"}));
  ExecOptions options;
  options.grad = true;
  Executor executor(graph, options);
  executor.run({RtValue(sample({2, 3, 8, 8}))})[0].tensor().square().sum().backward();
  for (const Value* parameter : graph.parameters()) {
    EXPECT_GT(parameter->tensor().grad().abs().sum().item<float>(), 0.0F) << parameter->name();
  }
}

// Every algorithm: written and read back it is the same graph with the same results and the same parameters.
TEST(FakeQuantNode, SurvivesTheFile) {
  for (const std::string& name : FakeQuantRegistry::instance().names()) {
    const FakeQuantSpec spec = spec_for(name);
    Graph graph = conv_relu();
    insert_fake_quant(graph, graph.value(spec.role == Role::kWeight ? "conv.weight" : "x"), spec, {.quantize = true});
    if (spec.role == Role::kActivation) graph.value("x.fq.scale").tensor().detach().fill_(0.05);
    Graph again = import_onnx_bytes(export_onnx_bytes(graph));
    EXPECT_EQ(to_text(again), to_text(graph)) << name;
    EXPECT_EQ(to_text(parse_graph(to_text(graph))), to_text(graph)) << name;
    const auto names = [](const Graph& one) {
      std::vector<std::string> result;
      for (const Value* parameter : one.parameters()) result.push_back(parameter->name());
      return result;
    };
    EXPECT_EQ(names(again), names(graph)) << name;
    const at::Tensor x = sample({2, 3, 8, 8});
    EXPECT_TRUE(at::equal(run(again, x), run(graph, x))) << name;
  }
}

TEST(FakeQuantNode, IsNotFoldedAway) {
  Graph graph = quantized(spec_of("fixed", "uint8 symmetric tensor"));
  run_passes(graph, cleanup_passes());
  EXPECT_NE(graph.find_node("conv.weight.fq"), nullptr);
}

TEST(FakeQuantNode, FeedsTheObserverOfTheExecutor) {
  Graph graph = conv_relu();
  Node& node =
      insert_fake_quant(graph, graph.value("relu"), spec_of("fixed", "uint8 affine tensor"), {.observe = true});
  Executor executor(graph);
  const RtValue x(sample({2, 3, 8, 8}));
  try {
    executor.run({x});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("needs an observer, and none was given"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("relu.fq"), std::string::npos);
  }
  const auto observer = make_observer("min_max", QScheme::parse("uint8 affine tensor"));
  executor.set_observer("relu.fq", observer.get());
  const at::Tensor y = executor.run({x})[0].tensor();
  EXPECT_EQ(observer->qparams().scale[0], y.max().item<float>() / 255);
  set_fake_quant_flags(node, {.observe = true, .quantize = true});  // as a moving average in training
  executor.run({x});
  EXPECT_EQ(fake_quant_tensors(node).scale().item<float>(), observer->qparams().scale[0]);
  EXPECT_ERROR(executor.set_observer("no such node", observer.get()), "no node 'no such node'");
}

TEST(FakeQuantNode, SaysWhatIsWrongWithIt) {
  const auto message = [](const char* attr, const Attr& value) {
    Graph graph = quantized(spec_of("fixed", "uint8 symmetric tensor"));
    graph.find_node("relu.fq")->attrs[attr] = value;
    try {
      run(graph, sample({1, 3, 8, 8}));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message("algorithm", std::string("lsk")).find("unknown fake quantizer 'lsk'"), std::string::npos);
  EXPECT_NE(message("scheme", std::string("int99 tensor")).find("bits must be 1 to 16"), std::string::npos);
  EXPECT_NE(message("role", std::string("wait")).find("unknown role 'wait'"), std::string::npos);
  EXPECT_NE(message("colour", std::int64_t{1}).find("unknown option 'colour' of fake quantizer 'fixed'"),
            std::string::npos);
  EXPECT_NE(message("algorithm", std::string("pact")).find("takes 4 inputs, not 3"), std::string::npos);
}

// A malformed file ends in an error that names the node, never in a crash or in another shape.
TEST(FakeQuantNode, RefusesStateThatMakesNoSense) {
  const auto message = [](const char* constant, const at::Tensor& tensor, const FakeQuantSpec& spec) {
    Graph graph = conv_relu();
    insert_fake_quant(graph, graph.value("relu"), spec, {.quantize = true});
    graph.set_tensor(graph.value(constant), tensor);
    try {
      run(graph, sample({1, 3, 8, 8}));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const FakeQuantSpec fixed = spec_of("fixed", "uint8 affine tensor"), lsq = spec_of("lsq", "int8 symmetric tensor");
  const FakeQuantSpec channels = spec_of("fixed", "e4m3fn channel:1");
  for (const FakeQuantSpec& spec : {fixed, lsq}) {
    EXPECT_NE(message("relu.fq.scale", at::ones({0}), spec).find("relu.fq"), std::string::npos);
    EXPECT_NE(message("relu.fq.scale", at::ones({3}), spec).find("has the shape [3]"), std::string::npos);
    EXPECT_NE(message("relu.fq.scale", at::full({}, std::nanf("")), spec).find("holds a NaN"), std::string::npos);
    EXPECT_NE(message("relu.fq.scale", at::ones({}, at::kDouble), spec).find("must be float"), std::string::npos);
  }
  EXPECT_NE(message("relu.fq.scale", at::zeros({}), fixed).find("scales must be positive"), std::string::npos);
  EXPECT_NE(message("relu.fq.zero_point", at::full({}, 300.5F), fixed).find("is not a code of"), std::string::npos);
  EXPECT_NE(message("relu.fq.scale", at::ones({5}), channels).find("it must be [4]"), std::string::npos);
  EXPECT_NE(message("relu.fq.scale", at::ones({4, 1, 1}), spec_of("nnie", "log8 tensor")).find("has the shape"),
            std::string::npos);
}

TEST(FakeQuantNode, WantsConstantsForItsState) {
  Graph graph = quantized(spec_of("fixed", "uint8 symmetric tensor"));
  Node& node = *graph.find_node("relu.fq");
  graph.set_input(node, 1, &graph.add_input("scale", TypeInfo::tensor(DType::kFloat, Dims{})));
  Executor executor(graph);
  EXPECT_ERROR(executor.run({RtValue(sample({1, 3, 8, 8})), RtValue(at::ones({}))}), "'relu.fq'",
               "input 1 must be a constant");
}

// What was frozen stays frozen, tensor by tensor; the weight too.
TEST(FakeQuantNode, AFrozenTensorStaysFrozenInTheFile) {
  Graph graph = conv_relu();
  insert_fake_quant(graph, graph.value("x"), spec_of("lsq", "uint8 affine tensor"), {.quantize = true});
  insert_fake_quant(graph, graph.value("conv.weight"), spec_of("lsq", "int8 symmetric tensor", Role::kWeight));
  for (const char* name : {"x.fq.scale", "conv.weight"}) graph.value(name).set_parameter(false);
  const Graph again = import_onnx_bytes(export_onnx_bytes(graph));
  EXPECT_EQ(to_text(again), to_text(graph));
  EXPECT_FALSE(again.value("x.fq.scale").is_parameter());
  EXPECT_FALSE(again.value("conv.weight").is_parameter());
  EXPECT_TRUE(again.value("conv.weight.fq.scale").is_parameter());
  EXPECT_TRUE(import_onnx_bytes(export_onnx_bytes(again)).find_node("x.fq")->metadata.empty());
}

// A missing plug-in: the file can be read and inspected, not run.
TEST(FakeQuantNode, OfAnUnknownAlgorithmCanBeRead) {
  Graph graph = quantized(spec_of("fixed", "uint8 symmetric tensor"));
  graph.find_node("relu.fq")->attrs["algorithm"] = std::string("mine");
  const Graph again = import_onnx_bytes(export_onnx_bytes(graph));
  EXPECT_ERROR(run(again, sample({1, 3, 8, 8})), "unknown fake quantizer 'mine'");
}

// Options come back as the numbers that they were.
TEST(FakeQuantNode, KeepsItsOptionsToTheBit) {
  Graph graph = conv_relu();
  insert_fake_quant(graph, graph.value("x"),
                    spec_of("dsq", "int4 symmetric tensor", Role::kActivation, Options({{"alpha", 0.3}})),
                    {.quantize = true});
  const Graph again = import_onnx_bytes(export_onnx_bytes(graph));
  const double before = fake_quant_of(*graph.find_node("x.fq"))->spec().options.number("alpha");
  EXPECT_EQ(fake_quant_of(*again.find_node("x.fq"))->spec().options.number("alpha"), before);
}

TEST(InsertFakeQuant, LeavesTheGraphAloneWhenItRefuses) {
  Graph graph = quantized(spec_of("fixed", "uint8 symmetric tensor"));
  const std::string before = to_text(graph);
  EXPECT_ERROR(insert_fake_quant(graph, graph.value("relu"), spec_of("fixed", "uint8 symmetric tensor")),
               "'relu' already has a quantizer");
  EXPECT_EQ(to_text(graph), before);
}

TEST(InsertFakeQuant, RefusesWhatItCannotShape) {
  Graph graph = conv_relu();
  EXPECT_ERROR(insert_fake_quant(graph, graph.value("x"), spec_of("fixed", "int8 channel:0")), "dim 0 of 'x'",
               "not a known number");
  EXPECT_ERROR(insert_fake_quant(graph, graph.value("x"), spec_of("fixed", "int8 channel:7")), "axis 7",
               "out of range for rank 4");
  EXPECT_ERROR(insert_fake_quant(graph, graph.value("x"), spec_of("dorefa", "int8 tensor")), "'dorefa'",
               "for weights only");
  graph.verify();
  EXPECT_EQ(graph.nodes().size(), 2U);
}

}  // namespace
}  // namespace quench
