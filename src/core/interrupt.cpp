#include "core/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "core/atomic_file.h"

namespace quench {
namespace {

std::atomic<int> started_group = 0;

std::atomic<const char*> interrupt_advice = nullptr;

void end_now(int signal) {
  if (const char* advice = interrupt_advice) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, advice, std::string_view(advice).size());
  }
  end_at_once("\nquench: interrupted\n", 128 + signal);
}

}  // namespace

// Only async-signal-safe calls: LibTorch's threads may hold any lock.
void end_at_once(std::string_view message, int exit_code) noexcept {
  if (const int group = started_group; group > 0) ::kill(-group, SIGKILL);  // before its files go
  remove_partial_files();
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, message.data(), message.size());
  ::_exit(exit_code);
}

void end_cleanly_on_interrupt() {
  struct sigaction action{};
  action.sa_handler = end_now;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

void set_started_group(int group) { started_group = group; }

void set_interrupt_advice(const char* advice) { interrupt_advice = advice; }

}  // namespace quench
