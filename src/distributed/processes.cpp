#include <ATen/ATen.h>

#include <cstring>

#include "distributed/group.h"
#include "quench/distributed.h"

namespace quench {

Processes::Processes() = default;
Processes::Processes(const ProcessPlace& place, const ProcessOptions& options)
    : place_(place), group_(place.size > 1 ? std::make_unique<Group>(place, options) : nullptr) {}
Processes::~Processes() = default;

void Processes::sum(at::Tensor& tensor) const {
  if (group_) group_->reduce(tensor, Reduction::kSum);
}

void Processes::mean(at::Tensor& tensor) const {
  if (!group_) return;
  sum(tensor);
  tensor.detach().div_(size());
}

void Processes::max(at::Tensor& tensor) const {
  if (group_) group_->reduce(tensor, Reduction::kMax);
}

void Processes::broadcast(at::Tensor& tensor) const {
  if (group_) group_->broadcast(tensor);
}

std::string Processes::broadcast(const std::string& bytes) const {
  if (!group_) return bytes;
  at::Tensor length = at::full({1}, static_cast<std::int64_t>(bytes.size()), at::kLong);
  broadcast(length);
  std::string shared(static_cast<std::size_t>(length.item<std::int64_t>()), '\0');
  if (shared.empty()) return shared;
  if (is_first()) shared = bytes;
  at::Tensor all = at::from_blob(shared.data(), {static_cast<std::int64_t>(shared.size())}, at::kByte);
  broadcast(all);
  return shared;
}

std::vector<std::string> Processes::gather(const std::string& bytes) const {
  return group_ ? group_->gather(bytes) : std::vector<std::string>{bytes};
}

std::vector<std::string> Processes::gather(const std::vector<std::string>& texts) const {
  if (!group_) return texts;
  std::string bytes;
  for (const std::string& text : texts) {
    const std::uint64_t length = text.size();
    bytes.append(reinterpret_cast<const char*>(&length), sizeof(length)).append(text);
  }
  std::vector<std::string> all;
  for (const std::string& packed : gather(bytes)) {
    for (std::size_t at = 0; at < packed.size();) {
      std::uint64_t length = 0;
      std::memcpy(&length, packed.data() + at, sizeof(length));
      all.push_back(packed.substr(at + sizeof(length), length));
      at += sizeof(length) + length;
    }
  }
  return all;
}

void Processes::barrier() const {
  if (group_) group_->barrier();
}

void Processes::agree_to_stop() const {
  if (group_) group_->agree_to_stop();
}

std::function<void()> Processes::start_sum(at::Tensor& tensor) const {
  return group_ ? group_->start_reduce(tensor, Reduction::kSum) : [] {};
}

}  // namespace quench
