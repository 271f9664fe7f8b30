// How the program ends: its exit code, and its message if an exception ended it.
#pragma once

#include "quench/error.h"

namespace quench {

// docs/formats.md lists them; do not change.
enum ExitCode : int {
  kDone = 0,
  kUsersToMend = 1,
  kOurs = 2,
  kCheckFailed = 3,
  kInterrupted = 130  // because another process was; one that got the signal itself ends with 128 plus its number
};

// Interrupted has a code of its own. Any other Error, memory that runs out and what the system refuses are for the user
// to fix; all else is our bug.
ExitCode exit_code_of(const std::exception& error);

// The final message. If it is our bug it says so and asks for a report.
Error last_words(const std::exception& error);

}  // namespace quench
