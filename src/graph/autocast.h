// Autocast: convolutions and products in bfloat16 while it lives; then the thread is as it was.
#pragma once

#include <memory>
#include <string>

namespace quench {

class Autocast {
 public:
  Autocast(bool on, const std::string& device);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  struct Before;
  std::unique_ptr<Before> before_;  // null if nothing was switched
};

}  // namespace quench
