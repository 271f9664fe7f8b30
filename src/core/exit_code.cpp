#include "core/exit_code.h"

#include <new>
#include <stdexcept>
#include <system_error>

namespace quench {
namespace {

template <typename... Types>
bool is_any_of(const std::exception& error) {
  return ((dynamic_cast<const Types*>(&error) != nullptr) || ...);
}

}  // namespace

ExitCode exit_code_of(const std::exception& error) {
  if (is_any_of<Interrupted>(error)) return kInterrupted;
  return is_any_of<Error, std::bad_alloc, std::length_error, std::system_error>(error) ? kUsersToMend : kOurs;
}

Error last_words(const std::exception& error) {
  if (const auto* known = dynamic_cast<const Error*>(&error)) return *known;
  if (exit_code_of(error) == kUsersToMend) return Error(plain_message(error));
  const auto* internal = dynamic_cast<const InternalError*>(&error);
  const Error cause = internal ? internal->error() : Error(plain_message(error));
  Error words("internal error: " + cause.message());
  for (const std::string& line : cause.context()) words.add_context(line);
  return words.add_context("this is a bug in quench; please report it, with the command and the model if you can");
}

}  // namespace quench
