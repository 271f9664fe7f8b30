// quench eval, quantize and train by metrics that are asked for.
#include "cli/models.h"
#include "cli/program.h"
#include "quench/npz.h"

namespace quench {
namespace {

struct Files {
  Files() {
    export_onnx(small_classifier(), path("m.onnx"));
    write_cifar(path("data.bin"), {0, 1, 2, 3, 9, 5, 6});
  }
  std::string path(const std::string& name) const { return folder.path(name); }
  std::string data() const { return cifar_spec(path("data.bin")); }
  Outcome eval(const std::string& model, const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"eval", path(model), "--data", data()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return quench_run(arguments);
  }
  // Quantized for ONNX Runtime, in out/.
  Outcome quantize(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"quantize", path("m.onnx"), "--platform",  "onnxruntime", "--calib", data(),
                                          "-o",       path("out"),    "--no-deploy", "--profile",   "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return quench_run(arguments);
  }
  TemporaryFolder folder;
};

TEST(EvalMetric, PrintsWhatWasAskedFor) {
  const Files files;
  const Outcome outcome = files.eval("m.onnx", {"--metric", "top1", "--metric", "topk:k=2"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("top1      85.71 %  (6 of 7; 95 % interval 48.69 to 97.43)\n"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("topk:k=2  85.71 %"), std::string::npos) << outcome.out;
  const nlohmann::json json = files.eval("m.onnx", {"--metric", "top5", "--json"}).json();
  EXPECT_EQ(json.at("items"), 7);
  EXPECT_EQ(json.at("metrics").at(0).at("name"), "top5");
  EXPECT_EQ(json.at("metrics").at(0).at("better"), "higher");
  EXPECT_EQ(json.at("metrics").at(0).at("right"), 6);
  EXPECT_FALSE(json.contains("top1"));
}

TEST(EvalMetric, MeasuresTargetsOfAnNpz) {
  const TemporaryFolder folder;
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 2}));
  graph.add_output(graph.add("Relu", "y", {&x}).output());
  graph.add_output(graph.add("Neg", "z", {&x}).output());
  export_onnx(graph, folder.path("m.onnx"));
  const at::Tensor input = at::tensor({1.0F, 2.0F, 3.0F, 4.0F}).view({2, 2});
  write_npz(folder.path("d.npz"), {{"x", input}, {"wanted", input + at::tensor({0.0F, 2.0F})}});
  const std::string data = "npz:" + folder.path("d.npz") + "?target=wanted";
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"eval", folder.path("m.onnx"), "--data", data};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return quench_run(arguments);
  };
  const nlohmann::json json = run({"--metric", "mse", "--metric", "mse:output=z", "--json"}).json();
  EXPECT_DOUBLE_EQ(json.at("metrics").at(0).at("value"), 2.0);  // 0, 4, 0, 4
  EXPECT_DOUBLE_EQ(json.at("metrics").at(0).at("low"), 2.0);    // of both items alike
  EXPECT_DOUBLE_EQ(json.at("metrics").at(1).at("value"), (4 + 36 + 36 + 100) / 4.0);
  EXPECT_EQ(run({}).code, 1);
  EXPECT_NE(run({}).err.find("the data has targets (arrays): name the metrics that they are for"), std::string::npos)
      << run({}).err;
}

TEST(EvalMetric, ComparesWithAnEarlierRunOrAnotherModel) {
  const Files files;
  ASSERT_EQ(files.eval("m.onnx", {"--metric", "top1", "--predictions", files.path("before.tsv")}).code, 0);
  write_cifar(files.path("data.bin"), {0, 1, 0, 3, 4, 5, 0});  // one more right, two fewer
  const Outcome outcome = files.eval("m.onnx", {"--metric", "top1", "--against", files.path("before.tsv"), "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json against = outcome.json().at("against").at("metrics").at(0);
  EXPECT_EQ(against.at("name"), "top1");
  EXPECT_NEAR(against.at("difference").get<double>(), -1.0 / 7, 1e-12);
  EXPECT_NEAR(against.at("p_value").get<double>(), 1.0, 1e-12);
  const Outcome text = files.eval("m.onnx", {"--metric", "top1", "--against", files.path("before.tsv")});
  EXPECT_NE(text.out.find("  top1  -14.29 points (95 % interval "), std::string::npos) << text.out;
  // Against itself nothing changes; as predictions where no metric is named.
  EXPECT_NE(files.eval("m.onnx", {"--against", files.path("m.onnx")}).out.find("other class predicted 0"),
            std::string::npos);
  const Outcome model = files.eval("m.onnx", {"--metric", "top5", "--against", files.path("m.onnx"), "--json"});
  EXPECT_EQ(model.json().at("against").at("metrics").at(0).at("difference"), 0.0);
}

// Files of runs with and without --metric are alike: what both runs have is compared.
TEST(EvalMetric, SaysWhatOneOfTwoRunsLacks) {
  const Files files;
  const std::string top1 = files.path("top1.tsv"), plain = files.path("plain.tsv");
  ASSERT_EQ(files.eval("m.onnx", {"--metric", "top1", "--predictions", top1}).code, 0);
  ASSERT_EQ(files.eval("m.onnx", {"--predictions", plain}).code, 0);
  const Outcome both = files.eval("m.onnx", {"--against", top1});
  ASSERT_EQ(both.code, 0) << both.err;
  EXPECT_NE(both.out.find("other class predicted 0"), std::string::npos) << both.out;
  EXPECT_NE(both.out.find("  top1  0.00 points"), std::string::npos) << both.out;
  EXPECT_NE(both.out.find("  not compared: " + top1 + " lacks top5\n"), std::string::npos) << both.out;
  const nlohmann::json against = files.eval("m.onnx", {"--against", top1, "--json"}).json().at("against");
  EXPECT_EQ(against.at("only_this"), nlohmann::json({"top5"}));
  EXPECT_EQ(against.at("metrics").size(), 1U);
  EXPECT_EQ(against.at("items"), 7);
  const Outcome fewer = files.eval("m.onnx", {"--metric", "top1", "--against", plain});
  ASSERT_EQ(fewer.code, 0) << fewer.err;
  EXPECT_NE(fewer.out.find("  not compared: this run lacks top5\n"), std::string::npos) << fewer.out;
  const Outcome nothing = files.eval("m.onnx", {"--metric", "topk:k=3", "--against", top1});
  EXPECT_EQ(nothing.code, 1);
  EXPECT_NE(nothing.err.find("there is nothing to compare: this run has topk:k=3, '" + top1 + "' has top1"),
            std::string::npos)
      << nothing.err;
}

TEST(EvalMetric, RefusesAFileOfAnOlderFormatBeforeTheWork) {
  const Files files;
  std::ofstream(files.path("old.tsv")) << "# quench predictions 1\n0\t0\t0\t0\t1\t2\t1\n";
  const Outcome outcome = files.eval("m.onnx", {"--against", files.path("old.tsv")});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("is of an older format (quench predictions 1; this is quench predictions 2): write it "
                             "again with this version of quench"),
            std::string::npos)
      << outcome.err;
}

TEST(EvalMetric, SaysWhatIsWrong) {
  const Files files;
  const auto error = [&](const std::string& metric) {
    const Outcome outcome = files.eval("m.onnx", {"--metric", metric});
    EXPECT_EQ(outcome.code, 1) << metric;
    return outcome.err;
  };
  EXPECT_NE(error("top6").find("unknown metric 'top6'; did you mean 'top1'"), std::string::npos) << error("top6");
  EXPECT_NE(error("topk:n=3").find("unknown option 'n' of metric 'topk'"), std::string::npos) << error("topk:n=3");
  EXPECT_NE(error("top1:output=logit").find("did you mean 'logits'?"), std::string::npos) << error("top1:output=logit");
  EXPECT_NE(error("agreement").find("compares with the float network, and there is none"), std::string::npos);
}

TEST(EvalMetric, ListsMetricsWithTheirOptions) {
  const nlohmann::json metrics = quench_run({"list", "metrics", "--json"}).json().at("metrics");
  EXPECT_NE(metrics.at("mse").get<std::string>().find("lower is better"), std::string::npos);
  const nlohmann::json options = quench_run({"list", "options", "--json"}).json().at("options");
  for (const char* option : {"mse.output", "mse.to", "mse.target"}) EXPECT_TRUE(options.contains(option)) << option;
  EXPECT_TRUE(quench_run({"list", "targets", "--json"}).json().at("targets").contains("coco"));
}

TEST(QuantizeMetric, MeasuresEveryFormOfTheNetwork) {
  const Files files;
  const Outcome outcome = files.quantize({"--eval", files.data(), "--metric", "top5", "--metric", "mse:to=float"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part : {"float       top5 ", "quantized   top5 ", "float       mse:to=float 0  (", "change      "})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  // The quantized network in each form, and one against the other.
  const std::string model = "out/m.quench.onnx";
  for (const std::string engine : {"float", "simulated", "integer"}) {
    const nlohmann::json json =
        files.eval(model, {"--metric", "mse:to=float", "--metric", "agreement", "--engine", engine, "--json"}).json();
    const double mse = json.at("metrics").at(0).at("value");
    EXPECT_EQ(mse == 0, engine == "float") << engine;
    EXPECT_GE(json.at("metrics").at(1).at("right").get<int>(), 6) << engine;
  }
  // A float model has none inside; another file can be named.
  const nlohmann::json named =
      files.eval("m.onnx", {"--metric", "mse:to=float", "--reference", files.path("m.onnx"), "--json"}).json();
  EXPECT_EQ(named.at("metrics").at(0).at("value"), 0.0);
}

TEST(QuantizeMetric, RefusesAMetricBeforeTheWork) {
  const Files files;
  const Outcome outcome = files.quantize({"--eval", files.data(), "--metric", "miou"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("the metric 'miou' needs targets, which the data does not have"), std::string::npos)
      << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(files.path("out")));
}

TEST(TrainMetric, ValidatesByIt) {
  const Files files;
  const Outcome outcome = quench_run(
      {"train",      files.path("m.onnx"), "--platform",  "onnxruntime", "--train", files.data(),    "--val",
       files.data(), "--epochs",           "1",           "--lr",        "0.00001", "--metric",      "mse:to=float",
       "-o",         files.path("out"),    "--no-deploy", "--profile",   "0",       "--train-batch", "7"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("(validation mse:to=float "), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace quench
