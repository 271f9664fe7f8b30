// The verdict on what was found.
#pragma once

#include "quench/verify.h"

namespace quench {

// Sums the tensors up, and fills in the criteria and the first layer that diverges. The options say whose bounds they
// are.
void judge(VerifyResult& result, const VerifyOptions& options);

}  // namespace quench
