// quench convert, and the commands that take what it writes.
#include <filesystem>

#include "cli/demo.h"
#include "cli/program.h"
#include "quench/graph.h"
#include "quench/import.h"
#include "quench/op.h"
#include "quench/quantized_model.h"

namespace quench {
namespace {

// A calibrated model of the demo network, made once.
const std::string& calibrated_demo() {
  static const TemporaryFolder folder;
  static const std::string path = [] {
    const Outcome outcome = quench_run({"quantize", demo_model(), "--platform", "onnxruntime", "--calib",
                                        demo_data(0, 32), "--profile", "0", "--no-deploy", "-o", folder.path("out")});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return folder.path("out/fashion_cnn.quench.onnx");
  }();
  return path;
}

TEST(ConvertCommand, WritesIntegersThatEveryCommandReads) {
  const TemporaryFolder folder;
  const std::string file = folder.path("int8.quench.onnx");
  const Outcome outcome = quench_run({"convert", calibrated_demo(), "-o", file, "--print"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("QuantizedConvReLU2d("), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("rule        mlas\n"), std::string::npos) << outcome.out;
  EXPECT_LT(std::filesystem::file_size(file), std::filesystem::file_size(calibrated_demo()) / 3);
  const QuantizedModel model = quantized_model_of(import_model(file));
  EXPECT_EQ(model.stage, ModelStage::kConverted);
  EXPECT_EQ(model.plan.platform, "onnxruntime");
  EXPECT_TRUE(model.plan.entries.empty()) << "its quantizers are gone";

  EXPECT_EQ(quench_run({"run", file, "--random"}).code, 0);
  EXPECT_NE(quench_run({"inspect", file}).out.find("quench.QConv"), std::string::npos);
  const nlohmann::json eval = quench_run({"eval", file, "--data", demo_data(200, 50), "--json"}).json();
  const nlohmann::json integer =
      quench_run({"eval", calibrated_demo(), "--data", demo_data(200, 50), "--engine", "integer", "--json"}).json();
  EXPECT_EQ(eval.at("correct"), integer.at("correct"));
  EXPECT_EQ(integer.at("engine"), "integer");
  EXPECT_GT(eval.at("top1").get<double>(), 0.7);
}

TEST(ConvertCommand, PrintsOneJsonObject) {
  const nlohmann::json json =
      quench_run({"convert", calibrated_demo(), "--print", "--requantize", "affine", "--json"}).json();
  EXPECT_EQ(json.at("requantize"), "affine");
  EXPECT_GT(json.at("integer_layers").get<int>(), 2);
  EXPECT_LT(json.at("largest_accumulator").get<double>(), 1.0);
  EXPECT_TRUE(json.at("warnings").empty());
  EXPECT_NE(json.at("text").get<std::string>().find("Quantized"), std::string::npos);
  EXPECT_FALSE(json.contains("written"));
}

TEST(ConvertCommand, SaysWhatToDoWithOtherModels) {
  const TemporaryFolder folder;
  expect_refused(quench_run({"convert", demo_model(), "-o", folder.path("x.onnx")}), "'quench quantize'");
  expect_refused(quench_run({"convert", calibrated_demo()}), "give -o FILE, --print or both");
  expect_refused(quench_run({"convert", calibrated_demo(), "-o", calibrated_demo()}), "already exists");
  expect_refused(quench_run({"convert", calibrated_demo(), "--print", "--requantize", "mlsa"}), "mlas");
  const std::string file = folder.path("int8.quench.onnx");
  ASSERT_EQ(quench_run({"convert", calibrated_demo(), "-o", file}).code, 0);
  expect_refused(quench_run({"convert", file, "--print"}), "converted already");
  expect_refused(quench_run({"inspect", file, "--why", "input"}), "keeps no plan");
  expect_refused(quench_run({"eval", file, "--data", demo_data(0, 4), "--engine", "float"}), "converted");
  expect_refused(quench_run({"eval", demo_model(), "--data", demo_data(0, 4), "--engine", "integer"}),
                 "quench quantize");
  expect_refused(quench_run({"deploy", file, "-o", folder.path("files")}), "converted");
  expect_refused(quench_run({"quantize", file, "--platform", "onnxruntime", "--calib", demo_data(0, 4), "-o",
                             folder.path("again")}),
                 "already quantized");
}

// Converted, the demo network, made once.
const std::string& converted_demo() {
  static const TemporaryFolder folder;
  static const std::string path = [] {
    EXPECT_EQ(quench_run({"convert", calibrated_demo(), "-o", folder.path("int8.quench.onnx")}).code, 0);
    return folder.path("int8.quench.onnx");
  }();
  return path;
}

TEST(InspectCommand, CountsTheWorkOfIntegers) {
  const nlohmann::json plain = quench_run({"inspect", demo_model(), "--json"}).json();
  const nlohmann::json int8 = quench_run({"inspect", converted_demo(), "--json"}).json();
  EXPECT_EQ(int8.at("macs"), plain.at("macs"));
  EXPECT_EQ(int8.at("macs_unknown"), 0);
  for (const nlohmann::json& node : int8.at("nodes")) {
    if (node.at("name") == "fc") EXPECT_EQ(node.at("parameters"), 1290) << "codes and bias, not scales";
    if (node.at("op") == "quench.Quantize") EXPECT_EQ(node.at("parameters"), 0);
  }
}

// Each took the model, or gave a reason that was not true of it.
TEST(ConvertCommand, OtherCommandsSayWhatAConvertedModelIsNot) {
  const std::string& file = converted_demo();
  const std::string unlabelled = "idx:" + demo_file("images.gz") + "?norm=mnist&limit=8";
  expect_refused(quench_run({"plan", file, "--platform", "onnxruntime"}), "nothing to plan; take the calibrated model");
  expect_refused(quench_run({"inspect", file, "--units"}), "the model is converted");
  expect_refused(quench_run({"profile", file, "--data", demo_data(0, 4)}), "take the calibrated model");
  expect_refused(quench_run({"eval", file, "--data", unlabelled}), "the model is converted");
  const Outcome against = quench_run({"eval", file, "--data", unlabelled, "--against", demo_model()});
  EXPECT_EQ(against.code, 0) << against.err;
}

TEST(ConvertCommand, MultiplierBitsNeedTheRuleThatHasThem) {
  const std::vector<std::string> command = {"convert", calibrated_demo(), "--print", "--multiplier-bits", "15"};
  expect_refused(quench_run(command),
                 "--multiplier-bits is for the rule half_up, and the platform's rule here is mlas");
  std::vector<std::string> affine = command, half_up = command;
  affine.insert(affine.end(), {"--requantize", "affine"});
  half_up.insert(half_up.end(), {"--requantize", "half_up"});
  expect_refused(quench_run(affine), "give --requantize half_up");
  EXPECT_EQ(quench_run(half_up).code, 0);
}

TEST(EvalCommand, EnginesAreThreeFormsOfOneModel) {
  const auto correct = [](const std::string& engine) {
    return quench_run({"eval", calibrated_demo(), "--data", demo_data(200, 100), "--engine", engine, "--json"})
        .json()
        .at("correct")
        .get<int>();
  };
  const int plain = quench_run({"eval", demo_model(), "--data", demo_data(200, 100), "--json"}).json().at("correct");
  EXPECT_NEAR(correct("float"), plain, 1);
  EXPECT_NEAR(correct("simulated"), plain, 3);
  EXPECT_NEAR(correct("integer"), plain, 3);
}

TEST(QuantizeCommand, PrintsFloatSimulatedAndInteger) {
  const TemporaryFolder folder;
  const Outcome outcome =
      quench_run({"quantize", demo_model(), "--platform", "onnxruntime", "--calib", demo_data(0, 16), "--eval",
                  demo_data(200, 50), "--integer", "--profile", "0", "--no-deploy", "-o", folder.path("out")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* line : {"float       top-1", "quantized   top-1", "integer     top-1"})
    EXPECT_NE(outcome.out.find(line), std::string::npos) << outcome.out;
  const nlohmann::json record = nlohmann::json::parse(read_text(folder.path("out/record.json")));
  EXPECT_GT(record.at("integer").at("top1").get<double>(), 0.7);
}

TEST(CompareCommand, JudgesByTheBound) {
  const TemporaryFolder folder;
  const std::string file = folder.path("int8.quench.onnx");
  ASSERT_EQ(quench_run({"convert", calibrated_demo(), "-o", file}).code, 0);
  const Outcome within = quench_run({"compare", calibrated_demo(), file, "--data", demo_data(0, 8), "--bound", "8"});
  EXPECT_EQ(within.code, 0) << within.out << within.err;
  EXPECT_NE(within.out.find("within the bound of 8"), std::string::npos) << within.out;
  EXPECT_NE(within.out.find("top-1       equal on 8 of 8"), std::string::npos) << within.out;
  const Outcome beyond =
      quench_run({"compare", demo_model(), file, "--data", demo_data(0, 8), "--bound", "0.01", "--json"});
  EXPECT_EQ(beyond.code, 3) << beyond.err;
  EXPECT_EQ(beyond.json().at("passed"), false);
  EXPECT_GT(beyond.json().at("values").size(), 3U);
  EXPECT_EQ(quench_run({"compare", demo_model(), file, "--data", demo_data(0, 8)}).code, 0) << "no bound, no verdict";
  expect_refused(quench_run({"compare", file, demo_model(), "--data", demo_data(0, 8), "--runtime", "onnxruntime"}),
                 "it is not a deployed Q/DQ model");
}

}  // namespace
}  // namespace quench
