// ExternalData: bytes of tensors that lie in files beside the model. Nothing outside the model's folder
// is ever opened: absolute paths, "..", and links that leave the folder are refused.
#pragma once

#include <cstdint>
#include <string>

namespace quench {

class ExternalData {
 public:
  explicit ExternalData(std::string folder) : folder_(std::move(folder)) {}  // "": refuses all

  struct Range {
    std::string location;  // as the model says
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
  };
  void check(const Range& range) const;  // throws unless the file has them; call before allocating
  void read(const Range& range, void* to) const;

 private:
  std::string resolve(const std::string& location) const;

  std::string folder_;
};

}  // namespace quench
