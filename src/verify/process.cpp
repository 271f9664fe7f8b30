#include "verify/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/interrupt.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::size_t kKept = 16384;  // of the output: the end says what went wrong
constexpr int kLook = 50;             // ms between two polls of the process

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    std::array<int, 2> ends{};
    QUENCH_CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0, "cannot create a pipe: ", std::strerror(errno));
    read = ends[0];
    write = ends[1];
  }
  ~Pipe() {
    close(read);
    close(write);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
};

// In the child, after fork: only async-signal-safe calls. What exec refuses goes through `failure`.
[[noreturn]] void become(char* const* argv, int output, int failure) {
  ::setpgid(0, 0);                     // so that a timeout also ends what it has started
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // and so that it does not outlive us
  const int empty = ::open("/dev/null", O_RDONLY);
  ::dup2(empty, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execvp(argv[0], argv);
  const int why = errno;
  [[maybe_unused]] const ssize_t written = ::write(failure, &why, sizeof(why));
  ::_exit(127);
}

void keep_end(std::string& text, const char* more, std::size_t count) {
  text.append(more, count);
  if (text.size() > 2 * kKept) text.erase(0, text.size() - kKept);
}

// False at the end of the stream.
bool read_some(int from, std::string& text) {
  pollfd wanted{from, POLLIN, 0};
  if (::poll(&wanted, 1, kLook) <= 0) return true;
  std::array<char, 4096> block{};
  const ssize_t count = ::read(from, block.data(), block.size());
  if (count > 0) keep_end(text, block.data(), static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

void take_status(int status, ProcessResult& result) {
  if (WIFSIGNALED(status))
    result.signal = WTERMSIG(status);
  else
    result.exit_code = WEXITSTATUS(status);
}

ProcessResult wait_for(pid_t child, int output, double timeout_seconds) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_seconds);
  ProcessResult result;
  bool open = true;
  int status = 0;
  for (;;) {
    if (open)
      open = read_some(output, result.output);
    else
      ::poll(nullptr, 0, 1);
    if (::waitpid(child, &status, WNOHANG) == child) break;
    if (Clock::now() < deadline) continue;
    result.timed_out = true;
    ::kill(-child, SIGKILL);
    ::waitpid(child, &status, 0);
    break;
  }
  take_status(status, result);
  // What is still in the pipe; something that it left running may hold the other end open.
  ::fcntl(output, F_SETFL, O_NONBLOCK);
  std::array<char, 4096> block{};
  for (ssize_t count = 0; open && (count = ::read(output, block.data(), block.size())) > 0;)
    keep_end(result.output, block.data(), static_cast<std::size_t>(count));
  return result;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, double timeout_seconds) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  Pipe output, failure;
  const pid_t child = ::fork();
  QUENCH_CHECK(child >= 0, "cannot start a process: ", std::strerror(errno));
  if (child == 0) become(argv.data(), output.write, failure.write);
  ::setpgid(child, child);  // whoever comes first
  set_started_group(child);
  Pipe::close(output.write);
  Pipe::close(failure.write);
  int why = 0;
  if (::read(failure.read, &why, sizeof(why)) == sizeof(why)) {
    ::waitpid(child, nullptr, 0);
    set_started_group(0);
    fail("cannot start '", command[0], "': ", std::strerror(why));
  }
  const ProcessResult result = wait_for(child, output.read, timeout_seconds);
  set_started_group(0);
  return result;
}

std::string ending_of(const ProcessResult& result, double timeout_seconds) {
  if (result.timed_out) return concat("did not finish within ", timeout_seconds, " s and was killed");
  if (result.signal != 0) return concat("was ended by signal ", result.signal, " (", ::strsignal(result.signal), ")");
  constexpr int kShell = 128;  // a shell adds the signal that ended its command to this
  const bool by_signal = result.exit_code > kShell && result.exit_code < kShell + NSIG;
  return concat("ended with exit code ", result.exit_code,
                by_signal ? concat(" (", ::strsignal(result.exit_code - kShell), ")") : std::string());
}

}  // namespace quench
