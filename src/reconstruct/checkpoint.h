// Finished units in a folder, one safetensors file each: what a run that was interrupted goes on from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/folder_lock.h"
#include "quench/reconstruct.h"
#include "quench/safetensors.h"

namespace quench {

class Checkpoint {
 public:
  // `key`: a hash of all that decides the result. "" as a folder: nothing is kept. A folder that was made for this and
  // is still empty at the end, or when the program is interrupted, goes away again. Throws if another run works in it.
  Checkpoint(std::string folder, std::uint64_t key);
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  // Constants by name, and the record, of the unit of this number; nothing if it is not there. Throws if the folder
  // belongs to another job.
  std::optional<TensorMap> load(std::size_t unit, UnitRecord& record) const;
  void save(std::size_t unit, const UnitRecord& record, TensorMap tensors) const;

 private:
  std::string path(std::size_t unit) const;
  std::string folder_;
  std::uint64_t key_;
  std::unique_ptr<FolderLock> lock_;  // null if nothing is kept
};

}  // namespace quench
