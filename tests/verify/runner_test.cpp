// Runners that fail, in every way.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "support/expect_error.h"
#include "verify/deployed_demo.h"

namespace quench {
namespace {

const DeployedDemo& demo() {
  static const DeployedDemo one;
  return one;
}

// The whole of what verify() says with this runner.
std::string complaint(const std::string& runner, double timeout = 60) {
  VerifyOptions options;
  options.runner = runner;
  options.timeout = timeout;
  try {
    demo().verify_on(4, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Runner, HangsAndIsNamed) {
  const std::string text = complaint("sleep 300 #", 0.5);
  EXPECT_SAYS(text, "the runner 'sleep 300 #' did not finish within 0.5 s and was killed");
  EXPECT_SAYS(text, "while verifying ");
}

TEST(Runner, CrashesAndIsNamed) {
  EXPECT_SAYS(complaint("sh -c 'kill -SEGV $$'"), "ended with exit code 139 (Segmentation fault)");
}

TEST(Runner, FailsAndWhatItSaidIsPassedOn) {
  const std::string text = complaint("sh -c 'echo the board is switched off >&2; exit 4'");
  EXPECT_SAYS(text, "ended with exit code 4:\n    the board is switched off");
}

TEST(Runner, DoesNotExist) { EXPECT_SAYS(complaint("/no/such/runner"), "/no/such/runner"); }

TEST(Runner, WritesNothing) { EXPECT_SAYS(complaint("true"), "the runner 'true' wrote no outputs"); }

TEST(Runner, WritesGarbage) {
  const std::string text = complaint("sh -c 'echo nonsense > $3' sh");
  EXPECT_SAYS(text, "in what the runner 'sh -c 'echo nonsense > $3' sh' wrote");
}

TEST(Runner, GivesOtherTensors) {
  EXPECT_SAYS(complaint("sh -c 'cp $2 $3' sh"), "gave no 'logits', but 1 other tensors");
}

TEST(Runner, OfAnUnknownRuntimeIsRefused) {
  VerifyOptions options;
  options.runtime = "onnxruntim";
  try {
    demo().verify_on(1, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message().find("unknown runtime 'onnxruntim'; did you mean 'onnxruntime'?"), 0U) << error.what();
  }
}

TEST(Runner, WithoutAnInterpreterSaysHowToGetOne) {
  ::setenv("QUENCH_PYTHON", "/no/such/python", 1);
  VerifyOptions options;
  try {
    demo().verify_on(1, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_SAYS(std::string(error.what()), "cannot start '/no/such/python'");
    EXPECT_SAYS(std::string(error.what()), "tools/test-venv");
  }
  ::unsetenv("QUENCH_PYTHON");
}

TEST(Runner, LeavesNothingBehindWhenInterrupted) {
  const TemporaryFolder folder;
  const std::string file = demo().file();  // made in a folder of its own, before the program gets another
  std::filesystem::create_directory(folder.path("tmp"));
  ::setenv("TMPDIR", folder.path("tmp").c_str(), 1);
  const std::string started = folder.path("started");
  const std::string runner =
      "sh -c 'echo $$ > " + started + ".part; mv " + started + ".part " + started + "; sleep 300' sh";
  const pid_t program =
      start_program({"verify", file, "--data", demo_data(0, 4), "--layers", "--runner", runner}, folder);
  ::unsetenv("TMPDIR");
  for (int i = 0; i < 1200 && !std::filesystem::exists(started); ++i) ::usleep(50000);
  ::kill(program, SIGINT);
  EXPECT_EQ(wait_for(program, folder).code, 130);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("tmp")));
  pid_t id = 0;
  std::ifstream(started) >> id;
  ASSERT_GT(id, 0);
  for (int i = 0; i < 100 && ::kill(id, 0) == 0; ++i) ::usleep(50000);  // until someone has taken its status
  EXPECT_NE(::kill(id, 0), 0) << "the runner outlived the program";
}

// -S: none of the packages that were installed.
TEST(Runner, WithoutItsPackageSaysHowToGetIt) {
  for (const std::string package : {"onnxruntime", "openvino", "tract", "tvm"}) {
    const std::string text = complaint("python3 -S " + demo_file("../../tools/runners/" + package + ".py"));
    EXPECT_SAYS(text, "the Python package '" + package + "' is not installed");
    EXPECT_SAYS(text, "test-venv " + package + "' creates an environment that has it");
    EXPECT_EQ(text.find("Traceback"), std::string::npos) << text;
  }
}

TEST(DeployedFile, IsTheQdqModelOfAFolder) {
  const std::vector<std::string> found = deployed_files(demo().folder(), "onnxruntime");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].ends_with("demo_qdq.onnx"));
  EXPECT_EQ(deployed_files("any/file.onnx", "onnxruntime"), std::vector<std::string>{"any/file.onnx"});
  const TemporaryFolder empty;
  EXPECT_ERROR(deployed_files(empty.path(""), "onnxruntime"), "no deployed model", "'quench deploy'");
}

// As users try it: the folder above, the calibrated model, the file for vendors' tools.
TEST(DeployedFile, IsSuggestedWhereAnotherWasNamed) {
  const std::string meant = "did you mean '" + demo().folder() + "'?";
  EXPECT_ERROR(deployed_files(demo().beside(""), "onnxruntime"), "no deployed model", meant);
  std::string above = demo().beside("");
  above.pop_back();
  EXPECT_ERROR(deployed_files(above, "onnxruntime"), meant);
  const auto images = open_dataset(demo_data(0, 1));
  EXPECT_ERROR(verify(demo().beside("demo.quench.onnx"), *images, {}), "it is a calibrated model", meant);
  const std::string reference = demo().folder() + "/demo_quantizers.onnx";
  EXPECT_ERROR(verify(reference, *images, {}), "for vendors' tools",
               "did you mean '" + demo().folder() + "/demo_qdq.onnx'?");
}

TEST(DeployedFile, WithoutQuantizersIsRefused) {
  try {
    verify(demo_model(), *open_dataset(demo_data(0, 1)), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_SAYS(std::string(error.what()), "it is not a deployed Q/DQ model");
  }
}

}  // namespace
}  // namespace quench
