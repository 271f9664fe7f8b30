#pragma once

#include <string>

namespace quench {

std::string decimals(double number, int digits);  // "3.14"

}  // namespace quench
