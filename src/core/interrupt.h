// Ctrl-C and SIGTERM: partial files are removed and the process ends with 128 plus the signal's number
// (130 for Ctrl-C). For programs; the library never calls it.
#pragma once

namespace quench {

void end_cleanly_on_interrupt();

// The process group of a program that was started and is waited for, which must not outlive us; 0: there is none.
void set_started_group(int group);

}  // namespace quench
