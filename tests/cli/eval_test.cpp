#include <fcntl.h>
#include <sys/stat.h>

#include <csignal>

#include "cli/models.h"
#include "cli/program.h"
#include "quench/predictions_file.h"

namespace quench {
namespace {

struct Files {
  explicit Files(std::vector<int> answers = {0, 1, 2, 3, 9, 5, 6}, Dim batch = Dim::symbol("N")) {
    export_onnx(small_classifier(std::move(batch)), path("m.onnx"));
    write_cifar(path("data.bin"), answers);
  }
  std::string path(const std::string& name) const { return folder.path(name); }
  Outcome eval(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"eval", path("m.onnx"), "--data", cifar_spec(path("data.bin"))};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return quench_run(arguments);
  }
  TemporaryFolder folder;
};

TEST(Eval, PrintsAccuracyWithItsInterval) {
  const Files files;
  const Outcome outcome = files.eval({});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("top-1  85.71 %  (6 of 7; 95 % interval 48.69 to 97.43)"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("top-5  85.71 %"), std::string::npos) << outcome.out;  // 4 is not among 9, 8, 7, 6, 5
  EXPECT_EQ(outcome.err, "");                                                       // short work: no progress lines
}

TEST(Eval, PrintsOneJsonObject) {
  const Files files;
  const nlohmann::json json = files.eval({"--json"}).json();
  EXPECT_EQ(json.at("items"), 7);
  EXPECT_EQ(json.at("correct"), 6);
  EXPECT_EQ(json.at("correct5"), 6);
  EXPECT_NEAR(json.at("top1").get<double>(), 6.0 / 7, 1e-12);
  EXPECT_NEAR(json.at("top5").get<double>(), 6.0 / 7, 1e-12);
  EXPECT_GT(json.at("seconds").get<double>(), 0.0);
  EXPECT_NEAR(json.at("items_per_second").get<double>(), 7 / json.at("seconds").get<double>(), 1e-6);
}

TEST(Eval, GivesTheSameWithoutTheInferencePassesAndAtAnyBatch) {
  const Files files;
  for (const auto& more : std::vector<std::vector<std::string>>{
           {"--no-optimize"}, {"--batch", "1"}, {"--batch", "3", "--workers", "2"}, {"--workers", "0"}}) {
    std::vector<std::string> arguments = more;
    arguments.emplace_back("--json");
    EXPECT_EQ(files.eval(arguments).json().at("correct"), 6);
  }
}

TEST(Eval, TakesTheBatchThatAModelFixes) {
  const Files files({0, 1, 2, 3, 9, 5, 6}, 4);
  const nlohmann::json json = files.eval({"--json"}).json();
  EXPECT_EQ(json.at("batch"), 4);
  EXPECT_EQ(json.at("items"), 7);
  EXPECT_EQ(json.at("correct"), 6);
  const Outcome refused = files.eval({"--batch", "2"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("the model's batch dimension is fixed at 4"), std::string::npos) << refused.err;
}

TEST(Eval, TakesALimit) {
  const Files files;
  EXPECT_EQ(files.eval({"--limit", "3", "--json"}).json().at("items"), 3);
  const std::string spec = cifar_spec(files.path("data.bin")) + "&limit=2";
  EXPECT_EQ(quench_run({"eval", files.path("m.onnx"), "--data", spec, "--json"}).json().at("items"), 2);
  const Outcome both = quench_run({"eval", files.path("m.onnx"), "--data", spec, "--limit", "3"});
  EXPECT_EQ(both.code, 1);
  EXPECT_NE(both.err.find("limit= in the data and --limit cannot be given together"), std::string::npos);
}

TEST(Eval, KeepsPredictionsAndComparesWithThem) {
  const Files files;
  ASSERT_EQ(files.eval({"--predictions", files.path("before.tsv")}).code, 0);
  const std::vector<Prediction> predictions = read_predictions(files.path("before.tsv")).predictions;
  ASSERT_EQ(predictions.size(), 7U);
  EXPECT_EQ(predictions[4].label, 4);
  EXPECT_EQ(predictions[4].first, 9);
  EXPECT_EQ(predictions[4].second, 8);
  EXPECT_NEAR(predictions[4].first_logit, 81.0, 1e-3);

  write_cifar(files.path("data.bin"), {0, 1, 0, 3, 4, 5, 0});  // same labels, other answers
  const Outcome outcome = files.eval({"--against", files.path("before.tsv"), "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json against = outcome.json().at("against");
  EXPECT_EQ(against.at("only_this_right"), 1);
  EXPECT_EQ(against.at("only_that_right"), 2);
  EXPECT_EQ(against.at("prediction_changed"), 3);
  EXPECT_NEAR(against.at("p_value").get<double>(), 1.0, 1e-12);
  EXPECT_NE(files.eval({"--against", files.path("before.tsv")}).out.find("McNemar's exact test: p = 1.0000"),
            std::string::npos);
}

TEST(Eval, SaysWhatIsWrongWithTheData) {
  const Files files;
  const auto error_of = [&](const std::string& data) {
    const Outcome outcome = quench_run({"eval", files.path("m.onnx"), "--data", data});
    EXPECT_EQ(outcome.code, 1) << data;
    return outcome.err;
  };
  EXPECT_NE(error_of("cifr10:" + files.path("data.bin")).find("cifar10"), std::string::npos);
  EXPECT_NE(error_of("cifar10:" + files.path("none.bin") + "?norm=imagenet").find("none.bin"), std::string::npos);
  EXPECT_NE(error_of("cifar10:" + files.path("data.bin")).find("norm"), std::string::npos);
  EXPECT_NE(error_of(cifar_spec(files.path("data.bin")) + "&limt=3").find("limit"), std::string::npos);
}

TEST(Eval, AnInterruptEndsWith130AndLeavesNoFile) {
  const Files files;
  const TemporaryFolder outputs;
  const std::string pipe = files.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const pid_t child = start_program({"eval", files.path("m.onnx"), "--data", cifar_spec(files.path("data.bin")),
                                     "--against", pipe, "--predictions", files.path("p.tsv")},
                                    outputs);
  // It waits in opening the pipe; writing to a pipe opens only when there is a reader.
  int writer = -1;
  for (int i = 0; i < 600 && writer < 0; ++i) {
    writer = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK);
    if (writer < 0) ::usleep(50'000);
  }
  ASSERT_GE(writer, 0) << "the program never opened the file";
  ::kill(child, SIGINT);
  const Outcome outcome = wait_for(child, outputs);
  ::close(writer);
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_NE(outcome.err.find("quench: interrupted"), std::string::npos);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(files.folder.files(), 3U);  // the model, the data, the pipe
}

}  // namespace
}  // namespace quench
