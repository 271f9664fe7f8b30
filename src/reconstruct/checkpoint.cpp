#include "reconstruct/checkpoint.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "core/atomic_file.h"
#include "quench/error.h"
#include "quench/process.h"

namespace quench {
namespace {

// Beside the constants; no value of a graph is named like this.
constexpr const char *kKey = " key", *kRecord = " record", *kNote = " note", *kThreads = " threads";

at::Tensor text_tensor(const std::string& text) {
  at::Tensor bytes = at::empty({static_cast<std::int64_t>(text.size())}, at::kByte);
  std::copy(text.begin(), text.end(), bytes.data_ptr<std::uint8_t>());
  return bytes;
}

std::string text_of(const at::Tensor& bytes) {
  const std::uint8_t* begin = bytes.data_ptr<std::uint8_t>();
  return {begin, begin + bytes.numel()};
}

}  // namespace

Checkpoint::Checkpoint(std::string folder, std::uint64_t key) : folder_(std::move(folder)), key_(key) {
  if (!folder_.empty()) lock_ = std::make_unique<FolderLock>(folder_);
}

std::string Checkpoint::path(std::size_t unit) const {
  return (std::filesystem::path(folder_) / concat("unit_", unit, ".safetensors")).string();
}

std::optional<TensorMap> Checkpoint::load(std::size_t unit, UnitRecord& record) const {
  if (folder_.empty() || !std::filesystem::exists(path(unit))) return std::nullopt;
  TensorMap tensors = with_context([&] { return concat("remove '", path(unit), "' to learn that unit again"); },
                                   [&] { return read_safetensors(path(unit)); });
  const auto take = [&](const char* name) {
    const auto at = tensors.find(name);
    QUENCH_CHECK(at != tensors.end(), "'", path(unit), "' is not a finished unit of a reconstruction");
    const at::Tensor tensor = at->second;
    tensors.erase(at);
    return tensor;
  };
  QUENCH_CHECK(static_cast<std::uint64_t>(take(kKey).item<std::int64_t>()) == key_, "'", folder_,
               "' holds units of another job (model, plan, data, method, options, seed or device differ): remove it, "
               "or give another output");
  const at::Tensor numbers = take(kRecord);
  QUENCH_CHECK(numbers.numel() == 5, "'", path(unit), "' is not a finished unit of a reconstruction");
  const double* number = numbers.data_ptr<double>();
  record.error_before = number[0];
  record.error_after = number[1];
  record.iterations = static_cast<std::int64_t>(number[2]);
  record.seconds = number[3];
  record.moved = number[4];
  record.note = text_of(take(kNote));
  if (tensors.contains(kThreads)) record.threads = static_cast<int>(take(kThreads).item<std::int64_t>());
  record.resumed = true;
  return tensors;
}

void Checkpoint::save(std::size_t unit, const UnitRecord& record, TensorMap tensors) const {
  if (folder_.empty()) return;
  for (auto& [name, tensor] : tensors) tensor = tensor.detach().cpu();
  tensors[kKey] = at::full({1}, static_cast<std::int64_t>(key_), at::kLong);
  tensors[kRecord] = at::tensor(
      {record.error_before, record.error_after, static_cast<double>(record.iterations), record.seconds, record.moved},
      at::kDouble);
  tensors[kNote] = text_tensor(record.note);
  tensors[kThreads] = at::full({1}, threads(), at::kLong);
  write_safetensors(path(unit), tensors);
}

}  // namespace quench
