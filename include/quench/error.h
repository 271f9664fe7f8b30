// The one exception type of quench. What ends the job throws it; each stage adds a line of context on
// the way up ("at node 'conv1' (Conv)", "while importing resnet18.onnx").
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

// What an exception says, without the C++ stack that LibTorch's errors carry behind it.
std::string plain_message(const std::exception& error);

// Runs `body`; any exception leaves as a quench::Error with the context line added. `describe` is
// called only on the way out.
template <typename Body, typename Describe>
auto with_context(Describe&& describe, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (Error& error) {
    error.add_context(describe());
    throw;
  } catch (const std::exception& error) {
    throw Error(plain_message(error)).add_context(describe());
  }
}

}  // namespace quench

// For what a user, a file or a plug-in can cause; what only a programmer can cause is an assert.
#define QUENCH_CHECK(condition, ...)               \
  do {                                             \
    if (!(condition)) ::quench::fail(__VA_ARGS__); \
  } while (false)
