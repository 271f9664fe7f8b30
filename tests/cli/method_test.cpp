#include <ATen/ATen.h>

#include <map>

#include "cli/method_job.h"
#include "quench/deploy.h"
#include "quench/import.h"
#include "quench/platform.h"
#include "quench/quantizers.h"
#include "verify/deployed_demo.h"

namespace quench {
namespace {

TEST(Method, LearnsSaysWhatItDidAndKeepsNothing) {
  const TemporaryFolder folder;
  const Outcome outcome = quench_run(job(folder.path("out"), {"--eval", demo_data(200, 100)}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("learned     qdrop: "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("): error "), std::string::npos) << outcome.err;
  const nlohmann::json record = nlohmann::json::parse(read_text(folder.path("out/record.json"))).at("reconstruction");
  EXPECT_EQ(record.at("method"), "qdrop");
  EXPECT_EQ(record.at("options").at("max_count"), 60);
  EXPECT_EQ(record.at("units").at(0).at("iterations"), 60);
  EXPECT_NE(read_text(folder.path("out/report.txt")).find("Reconstructed units"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.path("out/.reconstruction")));
}

// A plain platform of 8 bits, through to the target's file.
TEST(Method, WorksOnEveryPlatformThatHasIntegers) {
  for (const std::string& platform : PlatformRegistry::instance().names()) {
    const Platform& entry = find_platform(platform);
    const TemporaryFolder folder;
    std::vector<std::string> args = {
        "quantize", demo_model(),         "--platform", platform,         "--method",  "adaround",
        "--set",    "method.max_count=5", "--calib",    demo_data(0, 16), "--profile", "0",
        "-o",       folder.path("out"),   "--json",     "--threads",      "1"};
    if (entry.user_schemes) args.insert(args.end(), {"--bits", "w4a4"});
    const Outcome outcome = quench_run(args);
    ASSERT_EQ(outcome.code, 0) << platform << "\n" << outcome.err;
    EXPECT_NE(why_no_files(platform).empty(), !outcome.json().contains("deployed")) << platform;
  }
}

// What each layer's weight is in a file that holds it as codes, by the layer's name.
std::map<std::string, at::Tensor> deployed_weights(const std::string& file) {
  std::map<std::string, at::Tensor> weights;
  const Graph graph = import_model(file);
  for (const auto& node : graph.nodes()) {
    if (node->inputs().size() < 2 || !node->input(1) || !node->input(1)->producer()) continue;
    const Node& dequantize = *node->input(1)->producer();
    if (dequantize.op() != "DequantizeLinear" || !dequantize.input(0)->is_constant()) continue;
    const at::Tensor codes = dequantize.input(0)->tensor();
    EXPECT_FALSE(codes.is_floating_point());
    std::vector<std::int64_t> shape(static_cast<std::size_t>(codes.dim()), 1);
    if (dequantize.input(1)->tensor().numel() > 1) shape[0] = -1;  // a scale per output channel
    at::Tensor steps = codes.to(at::kFloat);
    if (const Value* zero = dequantize.input(2)) steps = steps - zero->tensor().to(at::kFloat).reshape(shape);
    weights[node->name()] = steps * dequantize.input(1)->tensor().reshape(shape);
  }
  return weights;
}

// Of every layer whose weight learned, bit for bit.
void expect_deployed(const std::string& model, const std::string& file) {
  const Graph learned = import_model(model);
  const std::map<std::string, at::Tensor> deployed = deployed_weights(file);
  std::size_t layers = 0;
  for (const Node* quantizer : quantizers_of(learned)) {
    if (fake_quant_spec(*quantizer).role != Role::kWeight) continue;
    ++layers;
    const std::string layer = quantizer->output().uses().at(0).node->name();
    ASSERT_TRUE(deployed.contains(layer)) << layer;
    EXPECT_TRUE(deployed.at(layer).equal(quantizer->input(0)->tensor())) << layer;
  }
  EXPECT_EQ(layers, deployed.size());
}

struct Deployed {
  const char *platform, *bits, *target, *method;
};
class LearnedCodes : public testing::TestWithParam<Deployed> {};

// The deployed file has exactly the codes that were learned, and ONNX Runtime computes with them: of a platform for it,
// and of a research platform's few bits, which lie in four there.
TEST_P(LearnedCodes, AreDeployed) {
  const auto [platform, bits, target, method] = GetParam();
  const TemporaryFolder folder;
  std::vector<std::string> job = {"quantize",   demo_model(),
                                  "--platform", platform,
                                  "--method",   method,
                                  "--set",      "method.max_count=40",
                                  "--set",      "method.lr=0.02",
                                  "--set",      "method.weight_scale_lr=0.001",
                                  "--calib",    demo_data(0, 32),
                                  "--profile",  "0",
                                  "-o",         folder.path("out"),
                                  "--threads",  "1",
                                  "--json"};
  if (std::string(method) == "networkwise") job.insert(job.end(), {"--set", "method.joint_count=40"});
  if (*bits) job.insert(job.end(), {"--bits", bits, "--no-deploy"});
  const Outcome made = quench_run(job);
  ASSERT_EQ(made.code, 0) << made.err;
  const nlohmann::json record = made.json();
  double moved = 0;  // single units may stay as they were
  for (const auto& unit : record.at("reconstruction").at("units")) moved += unit.at("moved").get<double>();
  EXPECT_GT(moved, 0.01);
  const std::string model = folder.path("out/fashion_cnn.quench.onnx"), files = folder.path("out/deploy");
  if (*bits) {
    const Outcome deployed = quench_run({"deploy", model, "--platform", target, "-o", files});
    ASSERT_EQ(deployed.code, 0) << deployed.err;
  }
  expect_deployed(model, files + "/fashion_cnn_qdq.onnx");
  std::string why;
  if (runtime_python("onnxruntime", why).empty()) GTEST_SKIP() << why;
  const Outcome outcome = quench_run({"verify", files, "--runtime", "onnxruntime", "--data", demo_data(300, 32),
                                      "--layers", "--model", model, "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(Platforms, LearnedCodes,
                         testing::Values(Deployed{"onnxruntime", "", "", "adaround"},
                                         Deployed{"onnxruntime", "", "", "brecq"},
                                         Deployed{"onnxruntime", "", "", "qdrop"},
                                         Deployed{"onnxruntime", "", "", "networkwise"},
                                         Deployed{"academic", "w4a4", "onnxruntime", "networkwise"},
                                         Deployed{"academic", "w2a4", "openvino", "brecq"}));

TEST(Method, UnitsAreShown) {
  const Outcome outcome = quench_run({"inspect", demo_model(), "--units"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("block1"), std::string::npos) << outcome.out;
  EXPECT_GT(quench_run({"inspect", demo_model(), "--units", "layer", "--json"}).json().size(),
            quench_run({"inspect", demo_model(), "--units", "--json"}).json().size());
  const Outcome named = quench_run({"inspect", demo_model(), "--units", "block1.conv2,block2.conv2", "--json"});
  ASSERT_EQ(named.code, 0) << named.err;
  ASSERT_EQ(named.json().size(), 3U);
  EXPECT_EQ(named.json().at(0).at("layers").back(), "block1.conv2");
  EXPECT_EQ(quench_run({"inspect", demo_model(), "--units", "block1.conv2", "--json"}).json().size(), 2U);
  expect_refused(quench_run({"inspect", demo_model(), "--units", "block1.conv2, block3"}),
                 "unknown layer or unit 'block3'");
  EXPECT_EQ(quench_run({"inspect", demo_model(), "--units", "block1", "--json"}).json().size(), 2U);
  expect_refused(quench_run({"inspect", demo_model(), "--units", "bloc"}), "did you mean 'block'");
}

TEST(Method, ADryRunSaysWhatWouldLearn) {
  std::vector<std::string> args = {"quantize", demo_model(), "--platform", "academic",
                                   "--bits",   "w4a4",       "--calib",    demo_data(0, 4),
                                   "--method", "brecq",      "--set",      "method.pattern=layer",
                                   "--dry-run"};
  const Outcome said = quench_run(args);
  ASSERT_EQ(said.code, 0) << said.err;
  args.emplace_back("--json");
  const auto object = quench_run(args).json();
  EXPECT_EQ(object.at("method"), "brecq");
  EXPECT_GT(object.at("units").get<int>(), 2);
  EXPECT_NE(said.out.find(concat("method      brecq, ", object.at("units").get<int>(),
                                 " units learn ('quench inspect MODEL --units layer' shows all)")),
            std::string::npos)
      << said.out;
  EXPECT_NE(said.out.find("; learning takes more"), std::string::npos) << said.out;
  args.insert(args.end(), {"--set", "method.exclude_node_prefix=block1.conv2"});
  EXPECT_EQ(quench_run(args).json().at("units"), object.at("units").get<int>() - 1);
  const auto on_nnie = quench_run({"quantize", demo_model(), "--platform", "nnie", "--calib", demo_data(0, 4),
                                   "--method", "qdrop", "--dry-run", "--json"});
  EXPECT_EQ(on_nnie.json().at("units"), 0) << on_nnie.out;  // its codes are no integers
}

// A platform whose codes are no integers: one note, not one per unit.
TEST(Method, SaysOnceThatNothingLearns) {
  const TemporaryFolder folder;
  const Outcome outcome = quench_run({"quantize", demo_model(), "--platform", "nnie", "--calib", demo_data(0, 4), "-o",
                                      folder.path("out"), "--method", "qdrop", "--set", "method.max_count=2"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string reason = "its codes are not integers";
  const std::size_t at = outcome.out.find("'qdrop' changed nothing in any of the ");
  ASSERT_NE(at, std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("'qdrop' changed nothing", at + 1), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(reason), std::string::npos) << outcome.out;
}

TEST(Method, BadInputIsRefused) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
    std::vector<std::string> arguments = {"quantize", demo_model(),    "--platform", "academic",
                                          "--calib",  demo_data(0, 4), "-o",         folder.path("out")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_refused(quench_run(arguments), part);
  };
  refused({"--bits", "w4a4", "--method", "qdrob"}, "did you mean 'qdrop'");
  refused({"--bits", "w4a4", "--method", "qdrop", "--max-memory", "2 gigs"}, "must look like 2G");
  refused({"--bits", "4/4", "--method", "qdrop"}, "must look like w4a8");
  refused({"--bits", "w4a4", "--method", "qdrop", "--set", "method.prop=1"}, "did you mean 'prob'");
  refused({"--bits", "w4a4", "--method", "qdrop", "--set", "method.prop=1"}, "in 'method.prop=1'");
  refused({"--bits", "w4a4", "--method", "qdrop", "--set", "method.lr=x"}, "in 'method.lr=x'");
  refused({"--bits", "w4a4", "--method", "qdrip"}, "in '--method qdrip'");
  refused({"--method", "qdrop"}, "bits");
  refused({"--bits", "w4a4", "--method", "qdrop", "--set", "method.name=brecq"}, "omit one of them");
  refused({"--bits", "w4a4", "--method", "qdrop", "--set", "method.units=nosuch", "--dry-run"},
          "unknown layer or unit 'nosuch'");
  refused({"--bits", "w4a4", "--method", "qdrop", "--set", "method.exclude_node_prefix=nosuch", "--dry-run"},
          "unknown layer prefix 'nosuch' in 'exclude_node_prefix'");
  refused({"--max-memory", "1G"}, "give --method NAME");
  expect_refused(quench_run({"quantize", demo_model(), "--platform", "onnxruntime", "--calib", demo_data(0, 4), "-o",
                             folder.path("out"), "--resume"}),
                 "--method NAME");
}

}  // namespace
}  // namespace quench
