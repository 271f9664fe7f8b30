#include "core/counted.h"

#include "quench/error.h"

namespace quench {

std::string counted(std::int64_t number, const std::string& noun, const std::string& plural) {
  if (number == 1) return "1 " + noun;
  return concat(number, " ", plural.empty() ? noun + "s" : plural);
}

}  // namespace quench
