// Keys of a job that post-training quantization has no use for: what a user must know ends the job, the rest is a note.
#pragma once

#include <string>
#include <vector>

#include "quench/config.h"

namespace quench {

// Notes, one per stage that the keys belong to. Throws if the config asks for training: the result would not be what it
// describes.
std::vector<std::string> unused_keys(const JobConfig& job);

}  // namespace quench
