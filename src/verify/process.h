// Other programs: started, waited for, ended when they hang.
#pragma once

#include <string>
#include <vector>

namespace quench {

struct ProcessResult {
  int exit_code = -1;  // if no signal ended it
  int signal = 0;
  bool timed_out = false;  // it was killed, with all that it had started
  std::string output;      // the end of what it wrote, to either stream
};

// Throws if the program cannot be started. Its standard input is empty.
ProcessResult run_process(const std::vector<std::string>& command, double timeout_seconds);

// "ended with exit code 1", "was ended by signal 11 (Segmentation fault)" ...
std::string ending_of(const ProcessResult& result, double timeout_seconds);

}  // namespace quench
