// The embedded model in ONNX Runtime, and in a runtime that is wrong by one code.
#include <gtest/gtest.h>

#include "core/exit_code.h"
#include "quench/pass.h"
#include "verify/deployed_demo.h"
#include "verify/many_ops.h"
#include "verify/wrong_runner.h"

namespace quench {
namespace {

// ONNX Runtime adds u8 x s8 in 16 bits where the processor has no VNNI, and saturates: no rule describes that.

#define SKIP_WITHOUT(python, why) \
  if ((python).empty()) GTEST_SKIP() << (why)

TEST(Verify, OnnxRuntimeGivesEveryCodeOfTheMlasRule) {
  std::string why;
  SKIP_WITHOUT(runtime_python("onnxruntime", why), why);
  if (!processor_adds_exactly()) GTEST_SKIP() << "this processor has no VNNI";
  const DeployedDemo demo;
  VerifyOptions options;
  options.layers = true;
  options.batch = 48;  // so that there are several calls, the last of them smaller
  const VerifyResult result = demo.verify_on(100, options);
  EXPECT_TRUE(result.passed()) << result.failures()[0];
  EXPECT_EQ(result.items, 100);
  EXPECT_EQ(result.rule, "mlas");
  EXPECT_EQ(result.local.different, 0);
  EXPECT_EQ(result.whole.different, 0);
  EXPECT_EQ(result.local_float.codes, 0);  // every layer of it has an integer kernel
  EXPECT_GT(result.local.codes, 100 * 28 * 28);
  ASSERT_EQ(result.outputs.size(), 1U);
  EXPECT_EQ(result.outputs[0].largest_whole, 0.0);
  EXPECT_GT(result.correct_deployed, 80);
  EXPECT_GE(result.equal, 99);  // as tests/e2e/integer_network_test.cpp has it
  for (const TensorResult& tensor : result.tensors) EXPECT_GT(tensor.local.codes, 0) << tensor.name;
}

TEST(Verify, OnnxRuntimeGivesEveryCodeOfOtherOpsToo) {
  std::string why;
  SKIP_WITHOUT(runtime_python("onnxruntime", why), why);
  if (!processor_adds_exactly()) GTEST_SKIP() << "this processor has no VNNI";
  at::manual_seed(7);
  const TensorData data(at::randn({64, 8, 12, 12}));
  const DeployedDemo deployed(many_ops(), data, "onnxruntime");
  VerifyOptions options;
  options.layers = true;
  const VerifyResult result = verify(deployed.file(), data, options);
  EXPECT_EQ(result.tensors.size(), 11U) << "the product gives float";
  EXPECT_EQ(result.local.different, 0);
  EXPECT_EQ(result.whole.different, 0);
  EXPECT_TRUE(result.passed()) << result.failures()[0];
}

TEST(Verify, FloatBiasesAreWhatOnnxRuntimeMakesOfThem) {
  std::string why;
  SKIP_WITHOUT(runtime_python("onnxruntime", why), why);
  const DeployedDemo demo("tensorrt_qdq");
  VerifyOptions options;
  options.layers = true;
  const VerifyResult result = demo.verify_on(40, options);
  EXPECT_TRUE(result.passed()) << result.failures()[0];
  EXPECT_GT(result.local_float.codes, 100000);  // int8 activations: it has no integer kernel for them
  EXPECT_LE(result.local.share(), 1e-5);
  options.runner = runtime_python("onnxruntime", why) + " " + demo_file("../../tools/runners/onnxruntime.py");
  options.runtime = "tract";  // whose biases stay in float
  EXPECT_GT(demo.verify_on(40, options).local.share(), 5e-5);
}

// x -> conv (quantized) -> relu (quantized too: one pair after the other) and -> sigmoid; deconv with a bias.
Graph preactivation() {
  at::manual_seed(8);
  Graph graph;
  TypeInfo type;
  type.dtype = DType::kFloat;
  type.dims = Dims{Dim::symbol("N"), Dim(4), Dim(8), Dim(8)};
  Value& x = graph.add_input("x", type);
  const auto weight = [&](const char* name, at::IntArrayRef sizes) {
    return &graph.add_constant(name, at::randn(sizes));
  };
  Value& c = graph.add("Conv", "c", {&x, weight("c.w", {6, 4, 1, 1}), weight("c.b", {6})}).output();
  Value& r = graph.add("Relu", "r", {&c}).output();
  Value& s = graph.add("Sigmoid", "s", {&c}).output();
  Value& a = graph.add("Conv", "a", {&r, weight("a.w", {4, 6, 1, 1}), weight("a.b", {4})}).output();
  Value& b = graph.add("ConvTranspose", "b", {&s, weight("b.w", {6, 4, 1, 1}), weight("b.b", {4})}).output();
  graph.add_output(graph.add("Add", "y", {&a, &b}).output());
  run_passes(graph, {"infer_shapes"});
  return graph;
}

TEST(Verify, QuantizersBehindQuantizersAndTransposedConvolutions) {
  std::string why;
  SKIP_WITHOUT(runtime_python("onnxruntime", why), why);
  if (!processor_adds_exactly()) GTEST_SKIP() << "this processor has no VNNI";
  const TensorData data(at::randn({32, 4, 8, 8}));
  for (const char* platform : {"onnxruntime", "tensorrt_qdq"}) {
    const DeployedDemo deployed(preactivation(), data, platform);
    VerifyOptions options;
    options.layers = true;
    const VerifyResult result = verify(deployed.file(), data, options);
    EXPECT_TRUE(result.passed()) << platform << ": " << result.failures()[0];
    EXPECT_GT(result.local.codes + result.local_float.codes, 0);
  }
}

TEST(Verify, OfOutputsAloneLooksAtNoCodes) {
  std::string why;
  SKIP_WITHOUT(runtime_python("onnxruntime", why), why);
  const VerifyResult result = DeployedDemo().verify_on(50, {});
  EXPECT_TRUE(result.passed());
  EXPECT_TRUE(result.tensors.empty());
  EXPECT_EQ(result.predictions, 50);
}

// Adds one code to one element of a tensor in the middle; the untapped file does not.
std::string wrong_code(const DeployedDemo& demo, const std::string& python, const std::string& tensor) {
  return wrong_runner(demo.beside("wrong.py"), python,
                      "codes = arrays.get('" + tensor +
                          "')\n"
                          "if codes is not None: codes.flat[5] += 1 if codes.flat[5] < 128 else -1\n");
}

TEST(Verify, FindsTheLayerThatIsWrongByOneCode) {
  std::string why;
  const std::string python = runtime_python("onnxruntime", why);
  SKIP_WITHOUT(python, why);
  if (!processor_adds_exactly()) GTEST_SKIP() << "this processor has no VNNI";
  const DeployedDemo demo;
  VerifyOptions options;
  options.layers = true;
  const VerifyResult right = demo.verify_on(10, options);
  const TensorResult& victim = right.tensors[2];
  options.runner = wrong_code(demo, python, victim.name);
  const VerifyResult wrong = demo.verify_on(10, options);
  EXPECT_EQ(wrong.first_diverging, victim.layer);
  EXPECT_EQ(wrong.tensors[2].local.different, 1);
  EXPECT_EQ(wrong.tensors[2].local.largest, 1);
  EXPECT_EQ(wrong.tensors[1].local.different, 0);
  ASSERT_EQ(wrong.failures().size(), 1U);
  EXPECT_NE(wrong.failures()[0].find(victim.layer), std::string::npos);
  options.bound = 1e-3;  // one code in more than a thousand
  EXPECT_TRUE(demo.verify_on(10, options).passed());

  const std::vector<std::string> command = {"verify",   demo.folder(), "--data",      demo_data(500, 10),
                                            "--layers", "--runner",    options.runner};
  const Outcome outcome = quench_run(command);
  EXPECT_EQ(outcome.code, kCheckFailed) << outcome.err;
  EXPECT_NE(outcome.out.find("FAILED        the first layer that diverges is " + victim.layer), std::string::npos)
      << outcome.out;
}

TEST(Verify, CommandPrintsAndPasses) {
  std::string why;
  SKIP_WITHOUT(runtime_python("onnxruntime", why), why);
  const DeployedDemo demo;
  const Outcome text = quench_run({"verify", demo.folder(), "--data", demo_data(500, 20)});
  EXPECT_EQ(text.code, kDone) << text.err;
  for (const char* part :
       {"outputs       'logits' differs by at most", "equal top-1", "simulated", "deployed", "passed"})
    EXPECT_NE(text.out.find(part), std::string::npos) << part << " in\n" << text.out;
  const Outcome json = quench_run({"verify", demo.file(), "--data", demo_data(500, 20), "--layers", "--json"});
  EXPECT_EQ(json.json()["items"], 20);
  EXPECT_GT(json.json()["layers"]["tensors"].size(), 3U);
  const Outcome bound = quench_run({"verify", demo.file(), "--data", demo_data(500, 20), "--bound", "0.1"});
  EXPECT_EQ(bound.code, kUsersToMend);
  EXPECT_NE(bound.err.find("add --layers"), std::string::npos) << bound.err;
}

}  // namespace
}  // namespace quench
