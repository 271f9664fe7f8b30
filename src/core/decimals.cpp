#include "core/decimals.h"

#include <array>
#include <cstdio>

namespace quench {

std::string decimals(double number, int digits) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, number);
  return text.data();
}

}  // namespace quench
