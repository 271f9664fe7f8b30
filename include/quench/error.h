// The exception type of quench. Whatever ends the job throws it; each stage adds a line of context on the way
// up ("at node 'conv1' (Conv)", "while importing resnet18.onnx").
#pragma once

#include <exception>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace quench {

class Error : public std::exception {
 public:
  explicit Error(std::string message) : message_(std::move(message)), text_(message_) {}

  // Innermost first. The same line twice in a row is kept once.
  Error& add_context(const std::string& line);

  const std::string& message() const { return message_; }  // without the context
  const std::vector<std::string>& context() const { return context_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string message_;
  std::vector<std::string> context_;
  std::string text_;
};

// Work that was asked to stop, and that did so in good order: what there is to go on from is written.
class Interrupted : public Error {
 public:
  using Error::Error;
};

// A bug in quench itself, with the context in which it showed. Not an Error: code that handles broken input
// must not mistake it for one. Only rethrow_with_context throws it.
class InternalError : public std::exception {
 public:
  explicit InternalError(Error error) : error_(std::move(error)) {}
  void add_context(const std::string& line) { error_.add_context(line); }
  const Error& error() const { return error_; }
  const char* what() const noexcept override { return error_.what(); }

 private:
  Error error_;
};

template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

template <typename... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw Error(concat(parts...));
}

// An exception's message, without the C++ stack that LibTorch's errors append.
std::string plain_message(const std::exception& error);

// For handlers: rethrows what is being handled, with the line added. What can only be a bug of ours
// (std::out_of_range and the other std::logic_errors, a bad_variant_access ...) leaves as an InternalError; all else
// (LibTorch's errors, running out of memory) can be caused by a model or its data, and leaves as an Error.
[[noreturn]] void rethrow_with_context(std::exception& error, const std::string& line);

// Runs `body`; any exception leaves as an Error or an InternalError with the context line added. `describe`
// is called only on the way out.
template <typename Body, typename Describe>
auto with_context(Describe&& describe, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (std::exception& error) {
    rethrow_with_context(error, describe());
  }
}

}  // namespace quench

// For what a user, a file or a plug-in can cause; what only a programmer can cause is an assert.
#define QUENCH_CHECK(condition, ...)               \
  do {                                             \
    if (!(condition)) ::quench::fail(__VA_ARGS__); \
  } while (false)
