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
  for (const char* stack : {"\nException raised from ", "\nframe #0"})
    if (const std::size_t at = text.find(stack); at != std::string::npos) text.resize(at);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace quench
