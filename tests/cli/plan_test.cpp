#include "quench/plan.h"

#include <algorithm>

#include "cli/demo.h"
#include "cli/program.h"

namespace quench {
namespace {

TEST(Plan, PrintsAPlanThatReadsBack) {
  const Outcome outcome = quench_run({"plan", demo_model(), "--platform", "tensorrt"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const QuantPlan plan = plan_from_yaml(outcome.out);
  EXPECT_EQ(plan.platform, "tensorrt");
  EXPECT_GT(plan.count(Role::kWeight), 0);
  EXPECT_EQ(to_yaml(plan), outcome.out);
}

TEST(Plan, WritesAFileAndPrintsASummary) {
  const TemporaryFolder folder;
  const Outcome outcome = quench_run({"plan", demo_model(), "--platform", "TensorRT", "-o", folder.path("plan.yaml")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("x weight: int8 symmetric channel:0 narrow"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("tensors stay float"), std::string::npos) << outcome.out;
  EXPECT_EQ(plan_from_yaml(read_text(folder.path("plan.yaml"))).platform, "tensorrt");
}

TEST(Plan, PrintsOneJsonObject) {
  const nlohmann::json json = quench_run({"plan", demo_model(), "--platform", "tensorrt", "--json"}).json();
  EXPECT_EQ(json.at("platform"), "tensorrt");
  EXPECT_EQ(json.at("quantized")[0].at("role"), "activation");
  EXPECT_EQ(json.at("quantized")[0].at("observer"), "mse");
  EXPECT_FALSE(json.at("float").empty());
}

TEST(Plan, TakesBitsAsQuantizeDoes) {
  const std::vector<std::string> how = {"--platform", "academic",
                                        "--set",      "defaults.weight={observer: min_max, fake_quant: fixed}",
                                        "--set",      "defaults.activation={observer: min_max, fake_quant: fixed}"};
  std::vector<std::string> arguments = {"plan", demo_model(), "--bits", "w4a6"};
  arguments.insert(arguments.end(), how.begin(), how.end());
  const Outcome outcome = quench_run(arguments);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const QuantPlan plan = plan_from_yaml(outcome.out);
  const auto has = [&](Role role, int bits) {
    return std::any_of(plan.entries.begin(), plan.entries.end(),
                       [&](const PlanEntry& one) { return one.role == role && one.scheme.bits() == bits; });
  };
  EXPECT_TRUE(has(Role::kWeight, 4) && has(Role::kActivation, 6)) << outcome.out;
  EXPECT_FALSE(has(Role::kWeight, 6)) << outcome.out;
  expect_refused(quench_run({"plan", demo_model(), "--platform", "academic", "--bits", "4/6"}), "must look like w4a8");
}

TEST(Plan, ShowsWhatDiffers) {
  const TemporaryFolder folder;
  const std::string before = folder.path("a.yaml"), after = folder.path("b.yaml");
  ASSERT_EQ(quench_run({"plan", demo_model(), "--platform", "tensorrt", "-o", before}).code, 0);
  EXPECT_EQ(quench_run({"plan", "--diff", before, before}).out, "the plans are equal\n");
  expect_refused(quench_run({"plan", "--diff", before, before, "--bits", "w4a4"}), "nothing about how to quantize");
  QuantPlan plan = plan_from_yaml(read_text(before));
  plan.entries[1].scheme = QScheme::parse("int4 symmetric channel:0 narrow");
  std::ofstream(after) << to_yaml(plan);
  const Outcome outcome = quench_run({"plan", "--diff", before, after});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("~ " + plan.entries[1].value + ": weight, int8"), 0U) << outcome.out;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome.out;
}

TEST(Plan, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  expect_refused(quench_run({"plan", demo_model()}), "no platform");
  expect_refused(quench_run({"plan", demo_model(), "--platform", "tensort"}), "did you mean 'tensorrt'?");
  expect_refused(quench_run({"plan", "--platform", "tensorrt"}), "no model was given");
  const std::string edited = folder.path("edited.yaml");
  std::ofstream(edited) << "mine";
  expect_refused(quench_run({"plan", demo_model(), "--platform", "tensorrt", "-o", edited}),
                 "already exists; --force replaces it");
  EXPECT_EQ(read_text(edited), "mine");
  EXPECT_EQ(quench_run({"plan", demo_model(), "--platform", "tensorrt", "-o", edited, "--force"}).code, 0);
  std::ofstream(folder.path("job.yaml")) << "version: 1\nmodel: " << demo_model() << "\nplatform: tensorrt\n";
  EXPECT_EQ(quench_run({"plan", "--config", folder.path("job.yaml")}).out, read_text(edited));
  expect_refused(quench_run({"plan", "--diff", folder.path("a"), folder.path("b")}), "no file");
  expect_refused(quench_run({"plan", "--diff", demo_model(), demo_model()}), "the model carries no plan");
  expect_refused(quench_run({"plan", demo_model(), "--platform", "tensorrt", "-o", folder.path("no/plan.yaml")}),
                 "no/plan.yaml");
}

TEST(Plan, ARuleThatMatchesNothingIsShownWithItsLine) {
  const TemporaryFolder folder;
  const std::string job = folder.path("job.yaml");
  const auto refused = [&](const std::string& rule) {
    std::ofstream(job) << "version: 1\nplatform: tensorrt\nlayers:\n  - " << rule << "\n";
    return quench_run({"plan", demo_model(), "--config", job});
  };
  const std::string name =
      plan_from_yaml(quench_run({"plan", demo_model(), "--platform", "tensorrt"}).out).entries[0].rule;
  const std::size_t quote = name.find('\'');
  const std::string layer = name.substr(quote + 1, name.rfind('\'') - quote - 1);
  for (const std::string& wrong : {layer + "x", "=" + layer + "x", layer + "x*"}) {
    const Outcome outcome = refused("{match: '" + wrong + "', float: true}");
    expect_refused(outcome, "the rule {match: " + wrong + "} matches no layer; did you mean '" + layer + "'?");
    expect_refused(outcome, "at line 4 of " + job);
  }
  expect_refused(refused("{op: Softplus, float: true}"), "matches no layer; there are layers of ");
}

// They take all words up to the next option; the model is none of them.
TEST(Plan, SettingsLeaveTheModelAlone) {
  const std::vector<std::string> wanted = {"plan", demo_model(), "--platform", "tensorrt", "--set", "parity=true"};
  const std::string plan = quench_run(wanted).out;
  EXPECT_NE(plan.find("parity: true"), std::string::npos) << plan;
  EXPECT_EQ(quench_run({"plan", "--set", "platform=tensorrt", "--set", "parity=true", demo_model()}).out, plan);
  EXPECT_EQ(quench_run({"plan", "--cfg-options", "platform=tensorrt", "parity=true", demo_model()}).out, plan);
}

TEST(Inspect, SaysWhyATensorIsQuantizedOrNot) {
  const QuantPlan plan = plan_from_yaml(quench_run({"plan", demo_model(), "--platform", "tensorrt"}).out);
  const auto why = [](const std::string& tensor) {
    return quench_run({"inspect", demo_model(), "--platform", "tensorrt", "--why", tensor});
  };
  const PlanEntry& entry = plan.entries[0];
  EXPECT_EQ(why(entry.value).out, explain(plan, entry.value) + "\n");
  EXPECT_NE(why(entry.value).out.find("rule: " + entry.rule), std::string::npos);
  for (const PlanSkip& skip : plan.skipped) {
    const std::string said = explain(plan, skip.value);
    if (!skip.is_inside()) EXPECT_NE(said.find("' stays float: "), std::string::npos) << said;
    if (!skip.is_inside()) continue;
    EXPECT_EQ(said.find("'" + skip.value + "' is computed inside the fused layer '"), 0U) << said;
    EXPECT_NE(said.find("and is not a tensor of its own; what is quantized of that layer: '"), std::string::npos)
        << said;
    EXPECT_NE(said.find("(weight, int8 symmetric"), std::string::npos) << said;
    EXPECT_EQ(why(skip.value).out, said + "\n");
  }
  expect_refused(why(entry.value + "x"), "did you mean '" + entry.value + "'?");
  expect_refused(quench_run({"inspect", demo_model(), "--why", entry.value}), "the model carries no plan");
  expect_refused(quench_run({"inspect", demo_model(), "--bits", "w4a4"}), "are for --why TENSOR");
  const TemporaryFolder folder;
  const Outcome made = quench_run({"quantize", demo_model(), "--platform", "tensorrt", "--calib", demo_data(0, 2), "-o",
                                   folder.path("out"), "--profile", "0", "--no-deploy"});
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string quantized = folder.path("out/fashion_cnn.quench.onnx");
  EXPECT_EQ(quench_run({"inspect", quantized, "--why", entry.value}).code, 0);
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--bits", "w4a4"}, {"--set", "seed=1"}}) {
    std::vector<std::string> arguments = {"inspect", quantized, "--why", entry.value};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_refused(quench_run(arguments), "the model was quantized with a plan, which says all: omit --platform");
  }
}

}  // namespace
}  // namespace quench
