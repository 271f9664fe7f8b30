// What a user would read if an action fails; "(no error)" if it does not.
#pragma once

#include <functional>
#include <string>

#include "quench/error.h"

namespace quench {

inline std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

// The same without where it happened.
inline std::string reason_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.message();
  }
  return "(no error)";
}

}  // namespace quench
