// The tensors of a torch.export archive: raw bytes under data/weights/ and data/constants/, described by
// a JSON beside them. Several tensors may lie in one member; its bytes are read once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "import/pt2/archive.h"
#include "quench/type_info.h"

namespace at {
class Tensor;
}

namespace quench {

class Pt2Weights {
 public:
  explicit Pt2Weights(const Pt2Archive& archive);
  ~Pt2Weights();
  Pt2Weights(const Pt2Weights&) = delete;
  Pt2Weights& operator=(const Pt2Weights&) = delete;

  at::Tensor weight(const std::string& name);    // parameters and persistent buffers
  at::Tensor constant(const std::string& name);  // the rest
  // Equal for two names of one and the same tensor.
  std::string identity(const std::string& name, bool is_weight) const;

 private:
  struct Entry {
    std::string member;  // "data/weights/weight_0"
    DType dtype = DType::kUndefined;
    std::vector<std::int64_t> sizes, strides;
    std::int64_t offset = 0;
    std::string unreadable;  // why
  };
  using Entries = std::map<std::string, Entry>;

  Entries read_entries(const std::string& folder, const std::string& config) const;
  const Entry& entry_of(const std::string& name, bool is_weight) const;
  at::Tensor read(const std::string& name, const Entry& entry);
  const at::Tensor& bytes_of(const std::string& member);

  const Pt2Archive& archive_;
  Entries weights_, constants_;
  std::map<std::string, std::unique_ptr<at::Tensor>> bytes_;
  std::uint64_t read_ = 0;    // bytes of members
  std::uint64_t copied_ = 0;  // bytes of tensors that had to be laid out again
};

}  // namespace quench
