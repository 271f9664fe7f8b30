#include "core/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "core/atomic_file.h"

namespace quench {
namespace {

std::atomic<int> started_group = 0;

// Only async-signal-safe calls: LibTorch's threads may hold any lock.
void end_now(int signal) {
  constexpr char kMessage[] = "\nquench: interrupted\n";
  if (const int group = started_group; group > 0) ::kill(-group, SIGKILL);  // before its files go
  remove_partial_files();
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  ::_exit(128 + signal);
}

}  // namespace

void end_cleanly_on_interrupt() {
  struct sigaction action{};
  action.sa_handler = end_now;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

void set_started_group(int group) { started_group = group; }

}  // namespace quench
