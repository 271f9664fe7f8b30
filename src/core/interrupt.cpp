#include "core/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <exception>

#include "core/atomic_file.h"

namespace quench {
namespace {

std::atomic<int> started_group = 0;

std::atomic<const char*> interrupt_advice = nullptr;

std::atomic<bool> postponed = false, watched = false, due = false;
std::atomic<int> noted = 0;
std::atomic<std::int64_t> noted_at = 0;  // in milliseconds

std::int64_t now_in_milliseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1000000;
}

// A launcher (torchrun) answers Ctrl-C by SIGTERM to processes that the terminal has told already.
bool is_the_same(int signal) {
  constexpr std::int64_t kLaunchersNeed = 2000;
  return signal != noted && now_in_milliseconds() - noted_at < kLaunchersNeed;
}

void say(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

void end_now(int signal) {
  if (noted == 0) noted_at = now_in_milliseconds();
  int none = 0;
  const bool is_first = noted.compare_exchange_strong(none, signal);
  if (is_first && postponed) return say("\ninterrupted: stopping cleanly; press Ctrl-C again to stop at once\n");
  if (is_first && watched) {
    due = true;
    return;
  }
  if ((postponed || watched) && !is_first && is_the_same(signal)) return;
  end_interrupted();
}

}  // namespace

bool interrupt_is_due() { return due; }

void end_interrupted() {
  if (const char* advice = interrupt_advice) say(advice);
  end_at_once("\nquench: interrupted\n", 128 + noted);
}

// Only async-signal-safe calls: LibTorch's threads may hold any lock.
void end_at_once(std::string_view message, int exit_code) noexcept {
  if (const int group = started_group; group > 0) ::kill(-group, SIGKILL);  // before its files go
  remove_partial_files();
  say(message);
  ::_exit(exit_code);
}

void end_cleanly_on_interrupt() {
  struct sigaction action{};
  action.sa_handler = end_now;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

PostponedInterrupt::PostponedInterrupt() { postponed = true; }

PostponedInterrupt::~PostponedInterrupt() {
  postponed = false;
  // An error on its way ends the program in any case: another process was interrupted too, and answered for both.
  if (noted == 0 || answered_ || std::uncaught_exceptions() != 0) return;
  if (!watched) end_interrupted();
  due = true;
}

bool PostponedInterrupt::is_noted() {
  answered_ = noted != 0;
  return answered_;
}

WatchedInterrupt::WatchedInterrupt() { watched = true; }

WatchedInterrupt::~WatchedInterrupt() {
  watched = false;
  if (due && std::uncaught_exceptions() == 0) end_interrupted();
}

int noted_interrupt() { return noted; }

void set_started_group(int group) { started_group = group; }

void set_interrupt_advice(const char* advice) { interrupt_advice = advice; }

}  // namespace quench
