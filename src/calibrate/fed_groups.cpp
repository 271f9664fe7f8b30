#include "calibrate/fed_groups.h"

#include <ATen/ATen.h>

#include <utility>

namespace quench {
namespace {

constexpr std::size_t kForEach = 4;                    // batches of a thread: when they are done, it may have to wait
constexpr std::size_t kBytes = std::size_t{32} << 20;  // that are worth waiting for in memory

std::size_t bytes_of(const Fed& batch) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : batch.inputs)
    if (value.is_tensor()) bytes += value.tensor().nbytes();
  return bytes;
}

}  // namespace

bool FedGroups::has_room(const std::vector<Fed>& group) const {
  const auto threads = static_cast<std::size_t>(threads_);
  if (group.empty()) return true;
  if (threads <= 1) return false;
  if (group.size() < threads) return true;
  return group.size() < kForEach * threads && (group.size() + 1) * bytes_of(group.back()) <= kBytes;
}

std::vector<Fed> FedGroups::next() {
  std::vector<Fed> group;
  while (has_room(group)) {
    std::optional<Fed> batch = held_ ? std::exchange(held_, std::nullopt) : feed_.next();
    if (!batch) break;
    const bool is_full = batch->items == batch->rows;
    if (is_full || group.empty()) {
      group.push_back(std::move(*batch));
      if (!is_full) break;
    } else {
      held_ = std::move(batch);
      break;
    }
  }
  return group;
}

std::vector<NamedValues> inputs_of(const std::vector<Fed>& group) {
  std::vector<NamedValues> inputs;
  for (const Fed& batch : group) inputs.push_back(batch.inputs);
  return inputs;
}

}  // namespace quench
