#include "import/torchscript/writes.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <unordered_map>

#include "import/trace/trace.h"

namespace quench {
namespace {

const c10::StorageImpl* key(const at::Tensor& tensor) { return tensor.storage().unsafeGetStorageImpl(); }
bool has_memory(const at::Tensor& tensor) { return tensor.defined() && tensor.has_storage(); }

}  // namespace

// Weak: elements go, addresses are not used again.
struct WrittenMemory::Storages
    : std::unordered_map<const c10::StorageImpl*, c10::weak_intrusive_ptr<c10::StorageImpl>> {};

WrittenMemory::WrittenMemory() : storages_(std::make_unique<Storages>()) {}
WrittenMemory::~WrittenMemory() = default;

void WrittenMemory::add(const at::Tensor& tensor) {
  if (has_memory(tensor)) storages_->try_emplace(key(tensor), tensor.storage().getWeakStorageImpl());
}

void WrittenMemory::add_all(const std::vector<c10::IValue>& values) {
  for (const c10::IValue& value : values) {
    if (value.isTensor()) add(value.toTensor());
    if (value.isTensorList())
      for (const at::Tensor& tensor : value.toTensorVector()) add(tensor);
  }
}

bool WrittenMemory::hides_data(const c10::IValue& value) const {
  if (storages_->empty()) return false;
  if (value.isTensorList()) {
    const std::vector<at::Tensor> tensors = value.toTensorVector();
    return std::any_of(tensors.begin(), tensors.end(), [&](const at::Tensor& one) { return hides_data(one); });
  }
  if (!value.isTensor()) return false;
  const at::Tensor& tensor = value.toTensor();
  return has_memory(tensor) && storages_->contains(key(tensor)) && !hangs_on_inputs(tensor);
}

}  // namespace quench
