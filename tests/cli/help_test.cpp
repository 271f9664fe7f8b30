// quench help, and the manual page that it writes.
#include "cli/program.h"
#include "deploy/onnx_checker.h"

namespace quench {
namespace {

std::string said_by(const std::vector<std::string>& arguments) {
  const Outcome outcome = quench_run(arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return outcome.out;
}

// The long options that a help text lists: "  -o,--output FILE" gives "--output".
std::vector<std::string> options_in(const std::string& help) {
  std::vector<std::string> options;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("  -", 0) != 0) continue;
    const std::string names = line.substr(2, line.find_first_of(" {", 2) - 2);
    if (const std::size_t at = names.find("--"); at != std::string::npos)
      options.push_back(names.substr(at, names.find(',', at) - at));
  }
  return options;
}

TEST(Help, IsThatOfTheOption) {
  EXPECT_EQ(said_by({"help"}), said_by({"--help"}));
  EXPECT_EQ(said_by({"help", "quantize"}), said_by({"quantize", "--help"}));
  EXPECT_EQ(said_by({"help", "ptq"}), said_by({"quantize", "--help"}));
  EXPECT_EQ(said_by({"help", "help"}), said_by({"help", "--help"}));
}

TEST(Help, OfAnUnknownCommandNamesTheNearest) {
  const Outcome outcome = quench_run({"help", "quantise"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err.rfind("quench: error: unknown command 'quantise'; did you mean 'quantize'?", 0), 0U)
      << outcome.err;
}

TEST(ManPage, HasEveryOptionOfEveryCommand) {
  const std::string page = said_by({"help", "--man"});
  for (const char* command : {"list", "inspect", "quantize", "train", "deploy", "verify", "help"}) {
    const std::size_t start = page.find(std::string(".SS \\fB") + command + "\\fR\n");
    ASSERT_NE(start, std::string::npos) << command;
    const std::string common =
        page.substr(page.find(".SH OPTIONS"), page.find(".SH COMMANDS") - page.find(".SH OPTIONS"));
    const std::string here = common + page.substr(start, page.find(".S", start + 3) - start);
    const std::vector<std::string> options = options_in(said_by({"help", command}));
    EXPECT_GE(options.size(), 4U);
    for (std::string option : options) {
      for (std::size_t at = 0; (at = option.find('-', at)) != std::string::npos; at += 2) option.insert(at, "\\");
      EXPECT_NE(here.find("\\fB" + option + "\\fR"), std::string::npos) << command << " " << option;
    }
  }
}

TEST(ManPage, IsRenderedWithoutAWarning) {
  if (run_command("man --version").status != 0) GTEST_SKIP() << "there is no man here";
  const TemporaryFolder folder;
  const std::string file = folder.path("quench.1");
  std::ofstream(file) << said_by({"help", "--man"});
  EXPECT_EQ(run_command("MANWIDTH=80 man --warnings=all -l " + file + " > " + folder.path("text")).output, "");
  const std::string text = read_text(folder.path("text"));
  EXPECT_NE(text.find("quench quantize [options] [model]"), std::string::npos) << text;
  EXPECT_NE(text.find("'quench list platforms'"), std::string::npos) << "quotes are lost";
}

// --json promises one object and nothing else.
TEST(Help, IsAnObjectWithJson) {
  EXPECT_EQ(quench_run({"help", "eval", "--json"}).json().at("help"), quench_run({"help", "eval"}).out);
  EXPECT_EQ(quench_run({"help", "--man", "--json"}).json().at("man"), quench_run({"help", "--man"}).out);
  EXPECT_EQ(quench_run({"completion", "zsh", "--json"}).json().at("script"), quench_run({"completion", "zsh"}).out);
}

}  // namespace
}  // namespace quench
