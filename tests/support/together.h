// Runs a test in several processes. The test program starts itself once per rank, with the variables of torchrun, for
// the one test that is running; there together() calls the body, and here it looks at how they ended:
//
//   TEST(Processes, Add) {
//     together(4, [](const Processes& processes) { ...EXPECT_EQ... });
//   }
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "quench/distributed.h"

namespace quench {

inline int free_port() {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  ::close(listener);
  return ntohs(address.sin_port);
}

// Programs that were started together, each with its own standard error.
class StartedTogether {
 public:
  StartedTogether(int count, const std::vector<std::string>& command, bool with_outputs = false) {
    std::string pattern = (std::filesystem::temp_directory_path() / "quench_together_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    port_ = free_port();
    std::fflush(nullptr);
    for (int rank = 0; rank < count; ++rank) {
      const pid_t child = ::fork();
      if (child == 0) become(rank, count, command, with_outputs);
      children_.push_back(child);
    }
    codes_.resize(children_.size(), kRunning);
  }
  ~StartedTogether() {
    for (std::size_t rank = 0; rank < children_.size(); ++rank)
      if (codes_[rank] == kRunning) {
        ::kill(children_[rank], SIGKILL);
        ::waitpid(children_[rank], nullptr, 0);
      }
    std::filesystem::remove_all(folder_);
  }

  void kill(std::size_t rank, int signal = SIGKILL) const { ::kill(children_[rank], signal); }
  // Whether all have ended by then.
  bool end_within(double seconds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    for (;;) {
      bool all = true;
      for (std::size_t rank = 0; rank < children_.size(); ++rank) all &= has_ended(rank);
      if (all || std::chrono::steady_clock::now() > until) return all;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  int port() const { return port_; }                         // where they meet
  int code(std::size_t rank) const { return codes_[rank]; }  // -signal if one ended it
  std::string error(std::size_t rank) const { return text_of(rank, "err"); }
  std::string output(std::size_t rank) const { return text_of(rank, "out"); }
  static constexpr int kRunning = -1000;

 private:
  [[noreturn]] void become(int rank, int count, const std::vector<std::string>& command, bool with_outputs) const {
    ::setenv("RANK", std::to_string(rank).c_str(), 1);
    ::setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
    ::setenv("WORLD_SIZE", std::to_string(count).c_str(), 1);
    ::setenv("MASTER_ADDR", "127.0.0.1", 1);
    ::setenv("MASTER_PORT", std::to_string(port_).c_str(), 1);
    ::setenv("OMP_NUM_THREADS", "1", 1);
    const std::string out = path_of(rank, "out"), err = path_of(rank, "err");
    if (!std::freopen((with_outputs ? out : err).c_str(), "a", stdout)) ::_exit(126);
    if (!std::freopen(err.c_str(), "a", stderr)) ::_exit(126);
    std::vector<char*> arguments;
    for (const std::string& one : command) arguments.push_back(const_cast<char*>(one.c_str()));
    arguments.push_back(nullptr);
    ::execv(command[0].c_str(), arguments.data());
    ::_exit(127);
  }
  bool has_ended(std::size_t rank) {
    int status = 0;
    if (codes_[rank] == kRunning && ::waitpid(children_[rank], &status, WNOHANG) == children_[rank])
      codes_[rank] = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return codes_[rank] != kRunning;
  }
  template <typename Rank>
  std::string path_of(Rank rank, const char* what) const {
    return (folder_ / (what + std::to_string(rank))).string();
  }
  std::string text_of(std::size_t rank, const char* what) const {
    std::ifstream in(path_of(rank, what), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  int port_ = 0;
  std::filesystem::path folder_;
  std::vector<pid_t> children_;
  std::vector<int> codes_;
};

// This program on the present test alone.
inline std::vector<std::string> this_test() {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  return {std::filesystem::read_symlink("/proc/self/exe").string(),
          std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name()};
}

inline bool is_one_of_several() { return std::getenv("WORLD_SIZE") != nullptr; }

inline constexpr const char* kPlayed = "the body was run to its end\n";

inline void expect_played(StartedTogether& processes, int count) {
  EXPECT_TRUE(processes.end_within(60));
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(count); ++rank) {
    const std::string said = processes.error(rank);
    EXPECT_EQ(processes.code(rank), 0) << "process " << rank << ":\n" << said;
    EXPECT_NE(said.find(kPlayed), std::string::npos) << "process " << rank << ":\n" << said;
  }
}

inline void together(int count, const std::function<void(const Processes& processes)>& body) {
  if (is_one_of_several()) {
    const Processes processes(place_of_process());
    body(processes);
    std::fputs(kPlayed, stderr);
    return;
  }
  StartedTogether processes(count, this_test());
  expect_played(processes, count);
}

}  // namespace quench
