// Settings of the whole process, offered to programs that use the library. The command-line program makes
// the first two calls at start; the library itself never does.
#pragma once

#include <string>

namespace quench {

// Tells glibc to keep large blocks between batches instead of giving them back to the system and faulting
// them in again (a factor of two for MobileNetV2 at batch 32). Costs: the peak stays in the process.
// False if the C library has no such setting.
bool keep_large_blocks();

// Some virtual machines advertise AMX but hide its tile palette; oneDNN then dies with SIGILL. Where that
// holds, sets ONEDNN_MAX_CPU_ISA (unless the user set it) and returns a sentence that says so, else "".
// Call it before the first tensor operation.
std::string avoid_cpu_quirks();

void set_threads(int count);  // of one operator; 0 leaves LibTorch's choice
int threads();

}  // namespace quench
