// The completions, called as the shells call them.
#include "cli/program.h"
#include "deploy/onnx_checker.h"

namespace quench {
namespace {

std::string script_for(const std::string& shell) {
  const Outcome outcome = quench_run({"completion", shell});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.out;
}

class BashCompletion : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(folder_.path("script")) << script_for("bash"); }

  // What bash would offer for the last of the words, which are split as bash splits them.
  std::vector<std::string> offers(const std::vector<std::string>& words) const {
    std::string line = "cd '" + folder_.path("") + "'; source ./script; COMP_WORDS=('" + program_path() + "'";
    for (const std::string& word : words) line += " '" + word + "'";
    line += "); COMP_CWORD=" + std::to_string(words.size()) + "; _quench; printf \"%s\\n\" \"${COMPREPLY[@]}\"";
    std::ofstream(folder_.path("call")) << line << "\n";
    std::istringstream lines(run_command("bash " + folder_.path("call")).output);
    std::vector<std::string> found;
    for (std::string one; std::getline(lines, one);)
      if (!one.empty()) found.push_back(one);
    return found;
  }

  TemporaryFolder folder_;
};

using Words = std::vector<std::string>;

TEST_F(BashCompletion, OffersCommandsAndAliases) {
  EXPECT_EQ(offers({"qua"}), Words{"quantize"});
  EXPECT_EQ(offers({"p"}), (Words{"plan", "ptq", "profile"}));
  EXPECT_EQ(offers({"--threads", "2", "--json", "inf"}), Words{"info"});
  EXPECT_EQ(offers({"help", "ver"}), Words{"verify"});
}

TEST_F(BashCompletion, OffersTheOptionsOfTheCommand) {
  EXPECT_EQ(offers({"quantize", "m.onnx", "--plat"}), Words{"--platform"});
  EXPECT_EQ(offers({"qat", "m.onnx", "--ep"}), Words{"--epochs"});
  EXPECT_EQ(offers({"quantize", "--ep"}), Words{});
  EXPECT_EQ(offers({"--ver"}), Words{"--version"});
}

TEST_F(BashCompletion, OffersNamesOfTheRegistries) {
  EXPECT_EQ(offers({"quantize", "m.onnx", "--platform", "open"}), Words{"openvino"});
  EXPECT_EQ(offers({"ptq", "--platform", "=", "open"}), Words{"openvino"});
  EXPECT_EQ(offers({"quantize", "--method", ""}), (Words{"adaround", "blockwise", "brecq", "networkwise", "qdrop"}));
  EXPECT_EQ(offers({"verify", "--runtime", "t"}), (Words{"tract", "tvm"}));
  EXPECT_EQ(offers({"list", "run"}), Words{"runtimes"});
}

TEST_F(BashCompletion, OffersChoices) {
  EXPECT_EQ(offers({"eval", "m.onnx", "--engine", ""}), (Words{"float", "simulated", "integer"}));
  EXPECT_EQ(offers({"quantize", "--bias-correction", "="}), (Words{"none", "fast", "sequential"}));
  EXPECT_EQ(offers({"run", "--device", "c"}), (Words{"cpu", "cuda"}));
  EXPECT_EQ(offers({"verify", "--rule", "mlas"}), (Words{"mlas", "mlas_plain"}));
  EXPECT_EQ(offers({"--color", "a"}), (Words{"auto", "always"}));
  EXPECT_EQ(offers({"completion", ""}), (Words{"bash", "zsh"}));
  EXPECT_EQ(offers({"eval", "--limit", ""}), Words{});
}

TEST_F(BashCompletion, OffersFilesFoldersAndData) {
  std::ofstream(folder_.path("model.onnx")) << "";
  std::filesystem::create_directory(folder_.path("models"));
  EXPECT_EQ(offers({"inspect", "mod"}).size(), 2U);
  EXPECT_EQ(offers({"quantize", "-o", "mod"}), Words{"models"});
  EXPECT_EQ(offers({"eval", "m.onnx", "--data", "cif"}), Words{"cifar10:"});
  EXPECT_EQ(offers({"eval", "m.onnx", "--data", "images", ":", "models"}), Words{"models"});
}

TEST(ZshCompletion, IsLoadedByTheShell) {
  const TemporaryFolder folder;
  const std::string script = script_for("zsh"), file = folder.path("_quench");
  EXPECT_EQ(script.rfind("#compdef quench\n", 0), 0U);
  EXPECT_NE(script.find(
                "'(--platform)--platform=[the target ('\\''quench list platforms'\\'')]:NAME:_quench_names platforms'"),
            std::string::npos);
  if (run_command("zsh --version").status != 0) GTEST_SKIP() << "there is no zsh here";
  std::ofstream(file) << script;
  EXPECT_EQ(run_command("zsh -f -n " + file).output, "");
  std::ofstream(folder.path("call")) << "autoload -Uz compinit; compinit -u -D; source " << file
                                     << "; print $_comps[quench]\n";
  EXPECT_EQ(run_command("zsh -f " + folder.path("call")).output, "_quench\n");
}

TEST(Completion, OfAnotherShellIsRefused) {
  const Outcome outcome = quench_run({"completion", "fish"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err.rfind("quench: error: unknown shell 'fish'", 0), 0U) << outcome.err;
}

}  // namespace
}  // namespace quench
