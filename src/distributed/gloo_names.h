// What c10d's header for Gloo must know of Gloo itself. LibTorch's wheel holds Gloo's code but not its headers; only
// pointers to these types are handled outside of it. cmake/GlooNames.cmake puts this in place of Gloo's headers.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

namespace rendezvous {
class Store {
 public:
  virtual ~Store() = default;
  virtual void set(const std::string& key, const std::vector<char>& value) = 0;
  virtual std::vector<char> get(const std::string& key) = 0;
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) = 0;
};
}  // namespace rendezvous

namespace transport {
class Device;
class UnboundBuffer {
 public:
  virtual ~UnboundBuffer() = default;
};
}  // namespace transport

}  // namespace gloo
