// EXPECT_ERROR(statement, "part of the message", ...): the statement throws quench::Error, and the text that a user
// would read, context and all, holds each of the parts. Parts are short, so that wording can be polished: the name of
// what is wrong, and the heart of the sentence.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "quench/error.h"

namespace quench {

class ThrowsError {
 public:
  template <typename... Others>
  explicit ThrowsError(std::string part, Others&&... others)
      : parts_{std::move(part), std::forward<Others>(others)...} {}

  template <typename Action>
  testing::AssertionResult operator()(const char* statement, const Action& action) const {
    testing::AssertionResult failure = testing::AssertionFailure() << statement << "\n";
    try {
      action();
    } catch (const Error& error) {
      const std::string text = error.what();
      for (const std::string& part : parts_)
        if (text.find(part) == std::string::npos) return failure << "does not say '" << part << "' but: " << text;
      return testing::AssertionSuccess();
    } catch (const std::exception& error) {
      return failure << "throws " << typeid(error).name() << ", not an Error: " << error.what();
    }
    return failure << "throws nothing; it should say '" << parts_.front() << "'";
  }

 private:
  std::vector<std::string> parts_;
};

}  // namespace quench

#define EXPECT_ERROR(statement, ...) EXPECT_PRED_FORMAT1(::quench::ThrowsError(__VA_ARGS__), [&] { statement; })
