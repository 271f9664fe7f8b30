// Runs the program under test and keeps what it says.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace quench {

struct Outcome {
  int code = -1;  // -signal if one ended it
  std::string out, err;
  double seconds = 0.0;
  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

// A folder that is removed with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "quench_cli_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string path(const std::string& name) const { return (path_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::string program_path() {
  const char* path = std::getenv("QUENCH_PROGRAM");
  return path ? path : "";
}

// Starts it with both outputs into files of `folder`; the caller waits.
inline pid_t start_program(const std::vector<std::string>& arguments, const TemporaryFolder& folder,
                           std::string program = program_path()) {
  std::fflush(nullptr);  // else the child would print what is still in our buffers
  const pid_t child = ::fork();
  if (child != 0) return child;
  std::vector<char*> argv;
  argv.push_back(program.data());
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  if (!std::freopen(folder.path("out").c_str(), "w", stdout)) ::_exit(126);
  if (!std::freopen(folder.path("err").c_str(), "w", stderr)) ::_exit(126);
  ::execv(program.c_str(), argv.data());
  ::_exit(127);
}

inline Outcome wait_for(pid_t child, const TemporaryFolder& folder) {
  int status = 0;
  ::waitpid(child, &status, 0);
  Outcome outcome;
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  outcome.out = read_text(folder.path("out"));
  outcome.err = read_text(folder.path("err"));
  return outcome;
}

inline Outcome quench_run(const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome = wait_for(start_program(arguments, folder), folder);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

}  // namespace quench
