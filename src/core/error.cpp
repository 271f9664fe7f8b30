#include "quench/error.h"

namespace quench {

Error& Error::add_context(const std::string& line) {
  if (!context_.empty() && context_.back() == line) return *this;
  context_.push_back(line);
  text_ += "\n  " + line;
  return *this;
}

std::string plain_message(const std::exception& error) {
  std::string text = error.what();
  const std::size_t stack = text.find("\nException raised from ");
  if (stack != std::string::npos) text.resize(stack);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace quench
