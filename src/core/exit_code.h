// How the program ends: its exit code, and what it says where an exception ended it.
#pragma once

#include "quench/error.h"

namespace quench {

// docs/formats.md lists them; do not change.
enum ExitCode : int { kDone = 0, kUsersToMend = 1, kOurs = 2, kCheckFailed = 3 };

// An Error, memory that runs out and what the system refuses are the user's to mend; all else is ours.
ExitCode exit_code_of(const std::exception& error);

// The last words. Where the mistake is ours they say so, and ask for a report.
Error last_words(const std::exception& error);

}  // namespace quench
