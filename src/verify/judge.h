// The verdict on what was found.
#pragma once

#include "quench/verify.h"

namespace quench {

// Sums up the tensors, and fills in the criteria and the first layer that diverges. The options say where each bound
// comes from.
void judge(VerifyResult& result, const VerifyOptions& options);

}  // namespace quench
