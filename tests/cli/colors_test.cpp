// Colours: on a terminal, unless something forbids them.
#include <pty.h>

#include "cli/program.h"

namespace quench {
namespace {

constexpr char kRedError[] = "\x1b[1;31mquench: error\x1b[0m: ";
constexpr char kBoldTitle[] = "\x1b[1mReconstruction methods (5)\x1b[0m\r\n";

struct Variable {
  const char* name;
  const char* value;  // null: not set
};

// What the program writes to a terminal, with these variables.
std::string on_terminal(const std::vector<std::string>& arguments, const std::vector<Variable>& variables) {
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    for (const Variable& one : variables) one.value ? ::setenv(one.name, one.value, 1) : ::unsetenv(one.name);
    std::vector<char*> argv;
    std::string program = program_path();
    argv.push_back(program.data());
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    ::execv(program.c_str(), argv.data());
    ::_exit(127);
  }
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = ::read(terminal, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(count));
  ::waitpid(child, nullptr, 0);
  ::close(terminal);
  return text;
}

TEST(Colors, AreThoseOfATerminal) {
  const std::vector<Variable> plain{{"TERM", "xterm"}, {"NO_COLOR", nullptr}};
  EXPECT_EQ(on_terminal({"list", "methods"}, plain).rfind(kBoldTitle, 0), 0U);
  EXPECT_EQ(on_terminal({"lst"}, plain).rfind(kRedError, 0), 0U);
  EXPECT_NE(on_terminal({"--help"}, plain).find("\x1b[1mOptions:\x1b[0m"), std::string::npos);
  EXPECT_EQ(on_terminal({"list", "methods"}, {{"TERM", "xterm"}, {"NO_COLOR", ""}}).rfind(kBoldTitle, 0), 0U)
      << "an empty NO_COLOR forbids nothing";
}

TEST(Colors, AreLeftOutWhereSomethingForbidsThem) {
  EXPECT_EQ(on_terminal({"list", "methods"}, {{"TERM", "xterm"}, {"NO_COLOR", "1"}}).find('\x1b'), std::string::npos);
  EXPECT_EQ(on_terminal({"list", "methods"}, {{"TERM", "dumb"}, {"NO_COLOR", nullptr}}).find('\x1b'),
            std::string::npos);
  EXPECT_EQ(on_terminal({"list", "methods"}, {{"TERM", nullptr}, {"NO_COLOR", nullptr}}).find('\x1b'),
            std::string::npos);
  const std::vector<Variable> plain{{"TERM", "xterm"}, {"NO_COLOR", nullptr}};
  EXPECT_EQ(on_terminal({"list", "methods", "--color", "never"}, plain).find('\x1b'), std::string::npos);
  EXPECT_EQ(on_terminal({"list", "methods", "--json"}, plain).find('\x1b'), std::string::npos);
  EXPECT_EQ(quench_run({"list", "methods"}).out.find('\x1b'), std::string::npos) << "a file is no terminal";
}

TEST(Colors, AreThereWhenAskedFor) {
  const Outcome list = quench_run({"list", "--color", "always"});
  EXPECT_NE(list.out.find("\n\n\x1b[1mPasses ("), std::string::npos);
  EXPECT_EQ(list.out.find("\n  \x1b"), std::string::npos) << "only titles";
  EXPECT_EQ(quench_run({"--color", "always", "list", "nothing"}).err.rfind(kRedError, 0), 0U);
  const Outcome wrong = quench_run({"list", "--color", "blue"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("--color: blue not in {auto,always,never}"), std::string::npos) << wrong.err;
}

}  // namespace
}  // namespace quench
