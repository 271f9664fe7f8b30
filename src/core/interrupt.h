// Ctrl-C and SIGTERM: partial files are removed and the process ends with 128 plus the signal's number
// (130 for Ctrl-C). For programs; the library never calls it.
#pragma once

#include <string_view>

namespace quench {

void end_cleanly_on_interrupt();

// What an interrupt says besides, until it is forgotten (nullptr): how to go on. The text must live as long.
void set_interrupt_advice(const char* advice);

// While it lives the first interrupt is only noted, for work that can end itself in good order; a second one ends the
// process as ever. One at a time.
class PostponedInterrupt {
 public:
  PostponedInterrupt();
  ~PostponedInterrupt();  // one that was noted, and that nobody asked for, ends the process now
  PostponedInterrupt(const PostponedInterrupt&) = delete;
  PostponedInterrupt& operator=(const PostponedInterrupt&) = delete;

  bool is_noted();  // then it is the caller's to end the work

 private:
  bool answered_ = false;
};
int noted_interrupt();  // the signal of one that was noted so far; 0: there was none

// While it lives an interrupt that nobody postpones is due, and whoever holds it looks for that and ends the process:
// for one of several processes, which tells the others before. A second one ends the process as ever.
class WatchedInterrupt {
 public:
  WatchedInterrupt();
  ~WatchedInterrupt();  // one that is due ends the process now
  WatchedInterrupt(const WatchedInterrupt&) = delete;
  WatchedInterrupt& operator=(const WatchedInterrupt&) = delete;
};
bool interrupt_is_due();
[[noreturn]] void end_interrupted();  // as an interrupt ends the process; from any thread

// The same, from any thread and at any time: the message goes to the standard error as it is.
[[noreturn]] void end_at_once(std::string_view message, int exit_code) noexcept;

// The process group of a program that was started and is waited for, which must not outlive us; 0: there is none.
void set_started_group(int group);

}  // namespace quench
