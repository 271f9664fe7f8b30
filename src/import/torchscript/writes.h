// Writes that the trace of a tensor does not show: made through another tensor that shares its memory.
#pragma once

#include <memory>
#include <vector>

namespace at {
class Tensor;
}
namespace c10 {
struct IValue;
}

namespace quench {

// Memory that was written to in a way that depends on data.
class WrittenMemory {
 public:
  WrittenMemory();
  ~WrittenMemory();
  void add(const at::Tensor& tensor);
  void add_all(const std::vector<c10::IValue>& values);

  // Whether the elements of a tensor, or of one of a list, depend on data though the trace does not say so.
  bool hides_data(const c10::IValue& value) const;

 private:
  struct Storages;
  std::unique_ptr<Storages> storages_;
};

}  // namespace quench
