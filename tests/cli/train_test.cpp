// quench train, as a user runs it.
#include <signal.h>
#include <sys/wait.h>

#include <thread>

#include "cli/demo.h"
#include "cli/program.h"
#include "core/folder_lock.h"
#include "core/philox.h"
#include "verify/deployed_demo.h"

namespace quench {
namespace {

std::vector<std::string> job(const std::string& out, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"train",
                                        demo_model(),
                                        "--platform",
                                        "onnxruntime",
                                        "--train",
                                        demo_data(0, 160),
                                        "--val",
                                        demo_data(160, 40),
                                        "--epochs",
                                        "3",
                                        "--train-batch",
                                        "16",
                                        "--set",
                                        "train.optimizer.lr=0.01",
                                        "--profile",
                                        "0",
                                        "--set",
                                        "train.checkpoint_every=3",
                                        "-o",
                                        out,
                                        "--threads",
                                        "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::string model_in(const TemporaryFolder& folder, const std::string& out) {
  return read_text(folder.path(out + "/fashion_cnn.quench.onnx"));
}

TEST(TrainCommand, TrainsDeploysAndSaysWhatItDid) {
  const TemporaryFolder folder;
  const Outcome outcome = quench_run(job(folder.path("out"), {"--eval", demo_data(200, 100)}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("before training: validation "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("epoch 3 of 3: loss "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("trained     30 steps, 3 epochs, in "), std::string::npos) << outcome.out;
  const nlohmann::json record = nlohmann::json::parse(read_text(folder.path("out/record.json")));
  EXPECT_EQ(record.at("training").at("steps"), 30);
  EXPECT_EQ(record.at("training").at("epochs").size(), 3U);
  EXPECT_GT(record.at("quantized").at("correct"), 80);
  EXPECT_NE(read_text(folder.path("out/report.txt")).find("Training"), std::string::npos);
  for (const char* file : {"checkpoint.safetensors", "best.safetensors", "steps.csv", "epochs.csv", "log.jsonl"})
    EXPECT_TRUE(std::filesystem::exists(folder.path(std::string("out/training/") + file))) << file;
  bool has_events = false;  // TensorBoard's
  for (const auto& file : std::filesystem::directory_iterator(folder.path("out/training")))
    has_events |= file.path().filename().string().rfind("events.out.tfevents.", 0) == 0;
  EXPECT_TRUE(has_events);
  EXPECT_TRUE(std::filesystem::exists(folder.path("out/deploy/fashion_cnn_qdq.onnx")));
  // The logs go from the measurement before the first step to the last step.
  const std::string log = read_text(folder.path("out/training/log.jsonl"));
  const nlohmann::json start = nlohmann::json::parse(log.substr(0, log.find('\n')));
  EXPECT_EQ(start.at("step"), 0);
  EXPECT_EQ(start.at("validation"), record.at("training").at("validation_at_start"));
  EXPECT_NE(read_text(folder.path("out/training/steps.csv")).find("\n30,3,"), std::string::npos);
  const std::string epochs = read_text(folder.path("out/training/epochs.csv"));
  EXPECT_EQ(epochs.find("step,epoch,loss,validation,validation_float,seconds\n0,0,,0."), 0U) << epochs;
  EXPECT_EQ(std::count(epochs.begin(), epochs.end(), '\n'), 5) << epochs;
  EXPECT_NE(epochs.find("\n30,3,"), std::string::npos) << epochs;
}

// Another job's checkpoint is refused before calibration; the same job's is not, though calibration adds to the plan.
TEST(TrainCommand, LooksAtTheCheckpointBeforeItCalibrates) {
  const TemporaryFolder folder;
  ASSERT_EQ(quench_run(job(folder.path("out"), {})).code, 0);
  const Outcome other = quench_run(job(folder.path("out"), {"--resume", "--time", "--set", "train.optimizer.lr=0.5"}));
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("belongs to another training job"), std::string::npos) << other.err;
  EXPECT_NE(other.err.find("plan: "), std::string::npos) << other.err;
  EXPECT_EQ(other.err.find("calibrate: "), std::string::npos) << other.err;
  const Outcome same = quench_run(job(folder.path("out"), {"--resume"}));
  EXPECT_EQ(same.code, 0) << same.err;
}

// The deployed file holds the very codes that were trained, and ONNX Runtime computes with them.
TEST(TrainCommand, TheTrainedCodesAreDeployed) {
  std::string why;
  if (runtime_python("onnxruntime", why).empty()) GTEST_SKIP() << why;
  const TemporaryFolder folder;
  const Outcome made = quench_run(job(folder.path("out"), {"--set", "train.keep_best=false"}));
  ASSERT_EQ(made.code, 0) << made.err;
  const Outcome outcome = quench_run({"verify", folder.path("out/deploy"), "--runtime", "onnxruntime", "--data",
                                      demo_data(300, 32), "--layers", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

TEST(TrainCommand, TakesAConfigAndItsAlias) {
  const TemporaryFolder folder;
  const std::string config = folder.path("job.yaml");
  std::ofstream(config) << "version: 1\nmodel: " << demo_model() << "\nplatform: academic\n"
                        << "defaults: {weight: {bits: 2}, activation: {bits: 4}}\n"
                        << "data: {train: \"" << demo_data(0, 96) << "\"}\n"
                        << "train: {epochs: 1, batch: 32, distill: {weight: 0.5}, ema: 0.9, label_smoothing: 0.1, "
                           "clip_norm: 1, freeze_bn_begin: 1, optimizer: {name: adamw, lr: 0.001}, "
                           "schedule: {name: step, warmup_epochs: 0.5}, augment: {flip: true, crop: 2}}\n";
  const Outcome outcome = quench_run({"qat", config, "-o", folder.path("out"), "--json", "--profile", "0"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.json().at("training").at("steps"), 3);
}

// What the training data says about its own length does not lengthen calibration. There are 1,000 images, fewer than
// the bound, so that the job's config must show it.
TEST(TrainCommand, CalibratesOnTheFirstItemsOfTheTrainingData) {
  const TemporaryFolder folder;
  const auto trained_on = [&](int limit) {
    const Outcome outcome = quench_run({"train", demo_model(), "--platform", "onnxruntime", "--train",
                                        demo_data(0, limit), "--train-batch", "16", "--set", "train.max_steps=1", "-o",
                                        folder.path("out"), "--force", "--json", "--profile", "0", "--no-deploy"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.json();
  };
  EXPECT_EQ(trained_on(48).at("calibration").at("items"), 48);
  const std::string config = trained_on(5000).at("config").get<std::string>();
  const std::string calib = config.substr(config.find("calib:"), config.find("train:") - config.find("calib:"));
  EXPECT_NE(calib.find("limit: \"1024\""), std::string::npos) << config;
}

// Hours of work are not thrown away by a command that was typed once more.
TEST(TrainCommand, ReplacesEarlierResultsOnlyWithForce) {
  const TemporaryFolder folder;
  const std::string out = folder.path("out");
  ASSERT_EQ(quench_run({"quantize", demo_model(), "--platform", "onnxruntime", "--calib", demo_data(0, 8), "-o", out,
                        "--profile", "0", "--no-deploy"})
                .code,
            0);
  expect_refused(quench_run(job(out)), "fashion_cnn.quench.onnx' already exists; --force replaces it");
  const std::string other = folder.path("other");
  std::filesystem::create_directories(other + "/training");
  std::ofstream(other + "/training/checkpoint.safetensors") << "precious";
  expect_refused(quench_run(job(other)),
                 "belongs to an interrupted training run; --resume continues it, --force discards it");
  EXPECT_EQ(read_text(other + "/training/checkpoint.safetensors"), "precious");
}

TEST(TrainCommand, ADryRunSaysHowLong) {
  const TemporaryFolder folder;
  std::vector<std::string> args = job(folder.path("out"));
  args.emplace_back("--dry-run");
  const Outcome said = quench_run(args);
  ASSERT_EQ(said.code, 0) << said.err;
  args.emplace_back("--json");
  const auto object = quench_run(args).json();
  const int epochs = object.at("epochs").get<int>(), items = object.at("train_items").get<int>();
  EXPECT_NE(said.out.find(concat("training    ", epochs, epochs == 1 ? " epoch" : " epochs", " of ", items, " items, ",
                                 object.at("train_batch").get<int>(), " per step\n")),
            std::string::npos)
      << said.out;
}

TEST(TrainCommand, TwoJobsDoNotShareAFolder) {
  const TemporaryFolder folder;
  const FolderLock other(folder.path("out"));
  expect_refused(quench_run(job(folder.path("out"))), "another process is working in '" + folder.path("out") + "'");
}

// The config of mmrazor's document, Customize Quantization Algorithms, on another network.
constexpr const char* kLsqOnOpenVino = R"(
global_qconfig: &qconfig
  w_observer: {type: mmrazor.LSQPerChannelObserver}
  a_observer: {type: mmrazor.LSQObserver}
  w_fake_quant: {type: mmrazor.LearnableFakeQuantize}
  a_fake_quant: {type: mmrazor.LearnableFakeQuantize}
  w_qscheme: {qdtype: qint8, bit: 8, is_symmetry: true, is_symmetric_range: true}
  a_qscheme: {qdtype: quint8, bit: 8, is_symmetry: true}
model:
  _scope_: mmrazor
  type: MMArchitectureQuant
  quantizer: {type: mmrazor.OpenVINOQuantizer, is_qat: true, global_qconfig: *qconfig, tracer: {type: mmrazor.CustomTracer}}
optim_wrapper: {optimizer: {type: SGD, lr: 0.001, momentum: 0.9}}
train_cfg: {type: mmrazor.LSQEpochBasedLoop, max_epochs: 1}
)";

TEST(TrainCommand, MmrazorsExampleComputesInOpenVinoWhatWasTrained) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("lsq.yaml")) << kLsqOnOpenVino;
  const Outcome trained =
      quench_run({"train", demo_model(), "--config", folder.path("lsq.yaml"), "--train", demo_data(0, 160),
                  "--train-batch", "16", "--profile", "0", "-o", folder.path("out"), "--threads", "1", "--json"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(trained.json().at("training").at("steps"), 10);
  std::string why;
  if (runtime_python("openvino", why).empty()) GTEST_SKIP() << why;
  const Outcome outcome = quench_run(
      {"verify", folder.path("out/deploy"), "--runtime", "openvino", "--data", demo_data(300, 100), "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

// A network that the zoo does not have, or weights that would have to be fetched.
TEST(TrainCommand, SaysWhyAnArchitectureIsNoModel) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& model, const std::string& part) {
    std::ofstream(folder.path("m.yaml")) << "model: {type: mmrazor.MMArchitectureQuant, quantizer: {type: "
                                            "mmrazor.OpenVINOQuantizer}, architecture: {type: ImageClassifier, "
                                         << model << "}\ntrain_cfg: {type: mmrazor.LSQEpochBasedLoop}\n";
    expect_refused(
        quench_run({"train", "--config", folder.path("m.yaml"), "--train", demo_data(0, 16), "-o", folder.path("out")}),
        part);
  };
  refused("backbone: {type: ResNet_CIFAR, depth: 19}}, float_checkpoint: r.pth", "no ResNet_CIFAR with depth '19'");
  refused("backbone: {type: ResNet, depth: 18}}, float_checkpoint: 'https://example.org/r.pth'", "is not fetched");
  refused("backbone: {type: ResNet, depth: 18}}",
          "no model: name it on the command line or as 'model' in the config; "
          "'architecture' is not used: it needs 'float_checkpoint'");
}

TEST(TrainCommand, BadInputIsRefused) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
    expect_refused(quench_run(job(folder.path("out"), more)), part);
    EXPECT_FALSE(std::filesystem::exists(folder.path("out/fashion_cnn.quench.onnx"))) << part;
  };
  refused({"--set", "train.loop=lern"}, "did you mean 'learn'");
  refused({"--set", "train.optimizer.name=rmsprop"}, "unknown optimizer 'rmsprop'");
  refused({"--dry-run", "--set", "train.optimizer.name=rmsprop"}, "unknown optimizer 'rmsprop'");
  refused({"--dry-run", "--set", "train.metric=top11"}, "unknown metric 'top11'");
  refused({"--dry-run", "--set", "train.schedule.warmup_steps=500000"}, "the warm-up takes 500000 steps, and ");
  refused({"--set", "train.optimizer.lr=0"}, "lr is 0; it must be above 0");
  refused({"--set", "train.epoch=3"}, "epochs");
  refused({"--method", "qdrop"}, "either trains or reconstructs");
  refused({"--set", "train.epochs=7"}, "--epochs and 'train.epochs=7' set the same: omit one of them");
  refused({"--equalize"}, "training does their work");
  refused({"--set", "train.optimizer.lr=1e30"}, "try a lower learning rate");
  expect_refused(quench_run({"train", demo_model(), "--platform", "onnxruntime", "-o", folder.path("out")}),
                 "no data to train on: give --train SPEC");
  std::ofstream(folder.path("m.yaml")) << "model: {type: mmrazor.MMArchitectureQuant}\n"
                                       << "train_cfg: {type: EpochBasedTrainLoop, max_epochs: 1}\n";
  expect_refused(quench_run({"train", demo_model(), "--config", folder.path("m.yaml"), "--platform", "onnxruntime",
                             "--train", demo_data(0, 8), "-o", folder.path("out")}),
                 "no loop that trains with quantizers");
  std::ofstream(folder.path("t.yaml")) << "train: {epochs: 1}\n";
  expect_refused(quench_run({"quantize", demo_model(), "--platform", "onnxruntime", "--config", folder.path("t.yaml"),
                             "--calib", demo_data(0, 4), "-o", folder.path("out")}),
                 "use 'quench train'");
}

// Killed at random moments, it ends in the bits of an unbroken run.
TEST(TrainCommand, ResumesAfterAKill) {
  const TemporaryFolder folder;
  const Outcome whole = quench_run(job(folder.path("whole")));
  ASSERT_EQ(whole.code, 0) << whole.err;
  for (std::uint64_t kill = 0; kill < 8; ++kill) {
    const TemporaryFolder outputs;
    const pid_t child = start_program(job(folder.path("broken"), {"--resume", "--force"}), outputs);
    const double share = static_cast<double>(random_bits(5, kill) >> 11) / static_cast<double>(1ULL << 53);
    std::this_thread::sleep_for(std::chrono::duration<double>(share * whole.seconds));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFEXITED(status)) continue;
    EXPECT_EQ(WEXITSTATUS(status), 0) << read_text(outputs.path("err"));
    std::filesystem::remove_all(folder.path("broken"));  // it was done already: once more
  }
  const bool kept = std::filesystem::exists(folder.path("broken/training/checkpoint.safetensors"));
  const Outcome last = quench_run(job(folder.path("broken"), {"--resume", "--force"}));
  ASSERT_EQ(last.code, 0) << last.err;
  const auto record = nlohmann::json::parse(read_text(folder.path("broken/record.json")));
  EXPECT_EQ(record.at("training").at("resumed_from") > 0, kept);
  EXPECT_EQ(model_in(folder, "broken"), model_in(folder, "whole"));
}

// Ctrl-C while it trains: the step in progress is the last one, and nothing of it is lost.
TEST(TrainCommand, AnInterruptLeavesACheckpoint) {
  const TemporaryFolder folder, outputs;
  std::vector<std::string> endless = job(folder.path("out"));
  *std::next(std::find(endless.begin(), endless.end(), "--epochs")) = "100000";
  const pid_t child = start_program(endless, outputs);
  const std::string steps = folder.path("out/training/steps.csv");
  const auto trains = [&] {
    return std::filesystem::exists(steps) && read_text(steps).find("\n1,") != std::string::npos;
  };
  for (int i = 0; i < 3000 && !trains(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ::kill(child, SIGINT);
  int status = 0;
  ::waitpid(child, &status, 0);
  const std::string said = read_text(outputs.path("err"));
  ASSERT_TRUE(WIFEXITED(status)) << said;
  EXPECT_EQ(WEXITSTATUS(status), 130) << said;
  EXPECT_NE(said.find("press Ctrl-C again to stop at once"), std::string::npos) << said;
  EXPECT_NE(said.find("training was interrupted after step "), std::string::npos) << said;
  EXPECT_NE(said.find("the same command with --resume goes on from there"), std::string::npos) << said;
  EXPECT_TRUE(std::filesystem::exists(folder.path("out/training/checkpoint.safetensors")));
  EXPECT_FALSE(std::filesystem::exists(folder.path("out/fashion_cnn.quench.onnx")));
  // What was trained until then can be had without the rest.
  endless.insert(endless.end(), {"--resume", "--set", "train.max_steps=1"});
  const Outcome ended = quench_run(endless);
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto training = nlohmann::json::parse(read_text(folder.path("out/record.json"))).at("training");
  EXPECT_EQ(training.at("steps"), training.at("resumed_from"));
  EXPECT_TRUE(std::filesystem::exists(folder.path("out/fashion_cnn.quench.onnx")));
}

}  // namespace
}  // namespace quench
