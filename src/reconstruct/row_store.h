// RowStore: one value for every item, row by row; in memory (of the device) or, where that is bounded, in a file
// without a name, which ends with the process. A file is read and written, not mapped: pages of a mapped one would
// count as memory of the process all the same.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace at {
class Tensor;
}

namespace quench {

class RowStore {
 public:
  virtual ~RowStore() = default;
  virtual void put(std::int64_t first, const at::Tensor& rows) = 0;
  // On the device, float32 if it was that when it was put.
  virtual at::Tensor get(const at::Tensor& rows) const = 0;  // their numbers, int64
  virtual at::Tensor get(std::int64_t first, std::int64_t count) const = 0;
};

struct RowPoolOptions {
  std::string device = "cpu";
  bool on_device = true;        // else stores lie in the host's memory
  bool half = false;            // float32 is kept as bfloat16
  std::int64_t max_memory = 0;  // bytes of all stores in memory at once; 0: no limit
  std::string folder;           // for files; "": the system's for temporary ones, which may itself be memory
};

// Makes stores and counts what they take.
class RowPool {
 public:
  explicit RowPool(RowPoolOptions options);
  ~RowPool();

  // For `rows` rows like those of `example`, which is a batch.
  std::unique_ptr<RowStore> make(std::int64_t rows, const at::Tensor& example);
  std::int64_t most_in_memory() const;  // bytes, at the largest so far
  std::int64_t most_in_files() const;

  struct Usage;

 private:
  RowPoolOptions options_;
  std::shared_ptr<Usage> usage_;
};

}  // namespace quench
