#include "quench/error.h"

#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <typeinfo>
#include <variant>

namespace quench {
namespace {

template <typename... Types>
bool is_any_of(const std::exception& error) {
  return ((dynamic_cast<const Types*>(&error) != nullptr) || ...);
}

// A std::length_error is a size that no memory holds, which a file can claim just as it can cause std::bad_alloc.
bool is_our_mistake(const std::exception& error) {
  return is_any_of<std::logic_error, std::bad_optional_access, std::bad_variant_access, std::bad_cast, std::bad_typeid,
                   std::bad_function_call, std::bad_weak_ptr>(error) &&
         !is_any_of<std::length_error>(error);
}

}  // namespace

Error& Error::add_context(const std::string& line) {
  if (!context_.empty() && context_.back() == line) return *this;
  context_.push_back(line);
  text_ += "\n  " + line;
  return *this;
}

std::string plain_message(const std::exception& error) {
  if (is_any_of<std::bad_alloc>(error)) return "out of memory";
  if (is_any_of<std::length_error>(error)) return concat("a size exceeds any memory: ", error.what());
  std::string text = error.what();
  for (const char* stack : {"\nException raised from ", "\nframe #0"})
    if (const std::size_t at = text.find(stack); at != std::string::npos) text.resize(at);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

void rethrow_with_context(std::exception& error, const std::string& line) {
  if (auto* known = dynamic_cast<Error*>(&error)) {
    known->add_context(line);
    throw;
  }
  if (auto* ours = dynamic_cast<InternalError*>(&error)) {
    ours->add_context(line);
    throw;
  }
  Error converted(plain_message(error));
  converted.add_context(line);
  if (is_our_mistake(error)) throw InternalError(converted);
  throw converted;
}

}  // namespace quench
