// Runtimes that are wrong in one way each, and the criterion that says so.
#include "verify/judge.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "calibrate/small_graph.h"
#include "core/exit_code.h"
#include "quench/export.h"
#include "quench/op.h"
#include "support/expect_error.h"
#include "verify/wrong_runner.h"

namespace quench {
namespace {

using Names = std::vector<std::string>;

class WrongRuntime : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    python_ = runtime_python("onnxruntime", why);
    if (python_.empty()) GTEST_SKIP() << why;
  }
  static const DeployedDemo& demo() {
    static const DeployedDemo one;
    return one;
  }
  // The first output is `v`; a step of it is `step`.
  std::string runner(const std::string& change) const {
    static const double step = demo().verify_on(kImages, {}).outputs[0].step;
    const std::string before = fmt::format("name = list(arrays)[0]; v = arrays[name]; step = {}\n", step);
    return wrong_runner(demo().beside("wrong.py"), python_, before + change + "\narrays[name] = v");
  }
  VerifyResult verified(const std::string& change, VerifyOptions options = {}) const {
    options.model = "none";
    options.runner = runner(change);
    return demo().verify_on(kImages, options);
  }
  static VerifyOptions with(std::optional<double> VerifyOptions::* bound, double value) {
    VerifyOptions options;
    options.*bound = value;
    return options;
  }
  static constexpr int kImages = 100;
  std::string python_;
};

TEST_F(WrongRuntime, NotAtAll) {
  const VerifyResult result = verified("");
  EXPECT_TRUE(result.passed()) << result.failures()[0];
  EXPECT_EQ(result.criteria.size(), 5U);  // mean, largest, share, top-1, accuracy
}

TEST_F(WrongRuntime, OnAverage) {
  EXPECT_EQ(failed(verified("v = v + 6 * step")), Names{"mean_difference"});
  EXPECT_TRUE(verified("v = v + 6 * step", with(&VerifyOptions::output_mean, 8)).passed());
}

TEST_F(WrongRuntime, InOneElement) {
  const std::string change = "v[3, v[3].argmin()] -= 100 * step";
  EXPECT_EQ(failed(verified(change)), Names{"largest_difference"});
  EXPECT_TRUE(verified(change, with(&VerifyOptions::output_largest, 120)).passed());
}

TEST_F(WrongRuntime, InEveryTenthItem) {
  const std::string change = "for row in v[::10]: row[row.argmin()] -= 40 * step";
  EXPECT_EQ(failed(verified(change)), Names{"beyond_bound"});
  EXPECT_TRUE(verified(change, with(&VerifyOptions::output_bound, 48)).passed());
  EXPECT_TRUE(verified(change, with(&VerifyOptions::output_share, 0.1)).passed());
}

// The two first classes of one item, 50 to 120 steps apart, pass each other in the middle.
TEST_F(WrongRuntime, InOnePrediction) {
  const std::string change =
      "first, second = numpy.sort(v, 1)[:, -1], numpy.sort(v, 1)[:, -2]\n"
      "lead = (first - second) / step\n"
      "if len(v) > 50:\n"
      "    i = numpy.flatnonzero((lead > 50) & (lead < 120))[0]\n"
      "    order, middle = v[i].argsort(), (first[i] + second[i]) / 2\n"
      "    v[i, order[-1]], v[i, order[-2]] = middle - step, middle + step";
  const VerifyResult result = verified(change);
  EXPECT_EQ(failed(result), Names{"top1"});
  EXPECT_EQ(result.outputs[0].decisive, 1);
  EXPECT_TRUE(verified(change, with(&VerifyOptions::output_bound, 62)).passed());
}

TEST_F(WrongRuntime, InWhatIsRight) {
  VerifyOptions lax;
  lax.output_bound = lax.output_largest = lax.output_mean = 1e9;
  const std::string change =
      "order = v.argsort(1)\n"
      "for i in range(0, len(v), 5):\n"
      "    v[i, order[i, -1]], v[i, order[i, -2]] = v[i, order[i, -2]], v[i, order[i, -1]]";
  const VerifyResult result = verified(change, lax);
  EXPECT_EQ(failed(result), Names{"accuracy"});
  EXPECT_GT(result.only_simulated, result.only_deployed + 10);
  lax.accuracy_bound = 0.3;
  EXPECT_TRUE(verified(change, lax).passed());
}

TEST_F(WrongRuntime, InEveryEighthItemZeroed) {
  const Names names = failed(verified("v[::8] = 0"));
  for (const char* name : {"largest_difference", "beyond_bound", "top1"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
}

// Two thousandths of a step off, where integers predict every code, would be rounding; a tenth of the outputs is not,
// though it is within the bounds that hold without --layers.
TEST_F(WrongRuntime, BesideCodesThatAreAllRight) {
  if (!processor_adds_exactly()) GTEST_SKIP() << "this processor has no VNNI";
  VerifyOptions options;
  options.layers = true;
  const std::string change = "if len(arrays) == 1: v = v * 1.1";
  EXPECT_EQ(failed(verified(change, options)), Names{"integer_outputs"});
  EXPECT_TRUE(verified("", options).passed());
}

TEST_F(WrongRuntime, InTheTypeOfWhatItGives) {
  for (const char* change : {"v = v + 1000j", "v = v.astype('int32')", "v = v > 0"})
    EXPECT_ERROR(verified(change), "gave 'logits' as", "but the model has it as float");
  EXPECT_TRUE(verified("v = v.astype('float64')").passed());
}

// Of few codes one near a tie is no proof of anything; a hundred of them are.
TEST(Judge, ChanceIsAllowedForWhereAShareOfCodesIs) {
  for (const int different : {0, 1, 100}) {
    VerifyResult result;
    result.layers = true;
    result.float_bound = 1e-5;
    TensorResult tensor{"codes", "node 'conv' (Conv)", false, {3780, different, 1}, {}};
    result.tensors = {tensor};
    judge(result, {});
    EXPECT_EQ(result.passed(), different < 100) << different;
  }
}

// Every code is as predicted, also those that float layers give: then the outputs must be, too.
TEST(Judge, OutputsMustFollowFromTheCodes) {
  for (const double steps : {0.0, 0.05, 5.0}) {
    VerifyResult result;
    result.layers = true;
    result.float_bound = 1e-5;
    result.tensors = {{"codes", "node 'conv' (Conv)", true, {3780, 0, 0}, {3780, 0, 0}},
                      {"sums", "node 'norm' (LayerNormalization)", false, {3780, 0, 0}, {3780, 0, 0}}};
    OutputResult output;
    output.name = "logits";
    output.step = 1.0;
    output.largest_whole = steps;
    result.outputs = {output};
    judge(result, {});
    EXPECT_EQ(failed(result), steps < 0.1 ? Names{} : Names{"integer_outputs"}) << steps;
    VerifyOptions fusing;
    fusing.runtime = "openvino";
    result.criteria.clear();
    judge(result, fusing);
    EXPECT_TRUE(result.passed()) << "its outputs come from other kernels than its codes";
  }
}

TEST_F(WrongRuntime, ByWhatIsNoNumber) {
  const VerifyResult result = verified("v[2, 2] = numpy.nan");
  EXPECT_FALSE(result.passed());
  EXPECT_TRUE(std::isinf(result.outputs[0].largest));
}

TEST_F(WrongRuntime, BoundsOfTheCommandLine) {
  const std::vector<std::string> command = {"verify", demo().folder(), "--data",   demo_data(500, kImages),   "--model",
                                            "none",   "--json",        "--runner", runner("v = v + 6 * step")};
  const Outcome wrong = quench_run(command);
  EXPECT_EQ(wrong.code, kCheckFailed) << wrong.err;
  const auto criteria = wrong.json()["criteria"];
  ASSERT_EQ(criteria.size(), 5U);
  EXPECT_EQ(criteria[0]["name"], "mean_difference");
  EXPECT_EQ(criteria[0]["passed"], false);
  EXPECT_EQ(criteria[0]["bound_of"], "onnxruntime");
  EXPECT_NEAR(criteria[0]["measured"].get<double>(), 6.0, 0.5);
  std::vector<std::string> lax = command;
  lax.insert(lax.end(), {"--output-mean", "8", "--output-bound", "20", "--output-share", "0.5", "--output-largest",
                         "70", "--accuracy-bound", "0.1"});
  const Outcome right = quench_run(lax);
  EXPECT_EQ(right.code, kDone) << right.out << right.err;
  const auto given = right.json()["criteria"];
  const std::vector<std::pair<const char*, double>> expected = {{"--output-mean", 8},
                                                                {"--output-largest", 70},
                                                                {"--output-share", 0.5},
                                                                {"--output-bound", 0},
                                                                {"--accuracy-bound", 0.1}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(given[i]["bound_of"], expected[i].first);
    EXPECT_EQ(given[i]["bound"].get<double>(), expected[i].second);
  }
}

// A thousand classes, so that a mean over them says nothing.
Graph thousand_classes() {
  at::manual_seed(5);
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 16}));
  Value& w = graph.add_constant("w", at::randn({1000, 16}));
  Value& b = graph.add_constant("b", at::randn({1000}));
  Node& layer = graph.add("Gemm", "layer", {&x, &w, &b});
  layer.attrs["transB"] = std::int64_t{1};
  graph.add_output(graph.add("Softmax", "chances", {&layer.output()}).output());
  infer_shapes(graph);
  return graph;
}

class WrongProbabilities : public WrongRuntime {
 protected:
  VerifyResult of(const std::string& change, bool layers = false) const {
    at::manual_seed(6);
    const TensorData data(at::randn({64, 16}));
    const DeployedDemo deployed(thousand_classes(), data, "onnxruntime");
    VerifyOptions options;
    options.layers = layers;
    options.runner = wrong_runner(deployed.beside("wrong.py"), python_, change);
    return verify(deployed.file(), data, options);
  }
};

TEST_F(WrongProbabilities, RightOnesPass) {
  const VerifyResult result = of("");
  EXPECT_TRUE(result.passed()) << result.failures()[0];
  EXPECT_TRUE(result.outputs[0].probabilities);
}

TEST_F(WrongProbabilities, ZerosFail) {
  const Names names = failed(of("arrays = {name: 0 * v for name, v in arrays.items()}"));
  for (const char* name : {"mean_difference", "largest_difference", "beyond_bound", "top1", "model_top1"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
}

TEST_F(WrongProbabilities, RolledClassesFail) {
  const std::string change = "arrays['chances'] = numpy.roll(arrays['chances'], 7, -1)";
  for (const bool layers : {false, true}) {
    const Names names = failed(of(change, layers));
    EXPECT_NE(std::find(names.begin(), names.end(), "top1"), names.end());
  }
}

// One probability of one item: of 64,000 elements.
TEST_F(WrongProbabilities, OneWrongElementFails) {
  EXPECT_FALSE(of("v = arrays['chances']; v[9, v[9].argmin()] = v[9].max()").passed());
}

}  // namespace
}  // namespace quench
