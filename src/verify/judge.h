// The verdict on what was found.
#pragma once

#include "quench/verify.h"

namespace quench {

// Sums the tensors up, and fills in the failures and the first layer that diverges.
void judge(VerifyResult& result);

}  // namespace quench
