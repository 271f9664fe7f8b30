// What verify() found, for readers.
#pragma once

#include <string>

#include "quench/verify.h"
#include "report/json.h"

namespace quench {

std::string verify_text(const VerifyResult& result);
Json json_of(const VerifyResult& result);

}  // namespace quench
