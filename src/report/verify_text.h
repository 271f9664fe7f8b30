// What verify() found, for readers.
#pragma once

#include <string>

#include "quench/verify.h"
#include "report/json.h"

namespace quench {

// With `details` every criterion that was judged; else one line for each group of them that was passed.
std::string verify_text(const VerifyResult& result, bool details = false);
Json json_of(const VerifyResult& result);

}  // namespace quench
