#include "quench/error.h"

namespace quench {

Error& Error::add_context(const std::string& line) {
  if (!context_.empty() && context_.back() == line) return *this;
  context_.push_back(line);
  text_ += "\n  " + line;
  return *this;
}

}  // namespace quench
