#include "data/make_batch.h"

#include <ATen/ATen.h>

#include <cstring>

#include "graph/tensor_types.h"

namespace quench {
namespace {

// Copies items into one tensor as they come; plain memory copies, so that no thread pool is woken.
class Stack {
 public:
  explicit Stack(std::int64_t capacity) : capacity_(capacity) {}

  // Throws if the item is not like the first one.
  void check(const RtValue& value) const {
    if (count_ == 0) return;
    QUENCH_CHECK(value.tensor().sizes() == sizes_ && value.dtype() == dtype_, "it is ", value.type().text(), ", but '",
                 first_name_, "' of the same batch is ", first_type_,
                 "; items of one batch must be alike (for images give size=N)");
  }

  void add(const Sample& sample, const RtValue& value) {
    const at::Tensor item = value.tensor().contiguous();
    if (count_ == 0) begin(sample, value);
    auto* to = static_cast<char*>(stacked_.mutable_data_ptr()) + static_cast<std::size_t>(count_) * item.nbytes();
    if (item.nbytes() > 0) std::memcpy(to, item.const_data_ptr(), item.nbytes());
    ++count_;
  }
  RtValue finish() const { return count_ == 0 ? RtValue() : RtValue(stacked_.narrow(0, 0, count_), dtype_); }

 private:
  void begin(const Sample& sample, const RtValue& value) {
    dtype_ = value.dtype();
    sizes_ = value.tensor().sizes().vec();
    first_name_ = sample.name;
    first_type_ = value.type().text();
    std::vector<std::int64_t> all = {capacity_};
    all.insert(all.end(), sizes_.begin(), sizes_.end());
    stacked_ = at::empty(all, value.tensor().options());
  }

  std::int64_t capacity_;
  std::int64_t count_ = 0;
  std::vector<std::int64_t> sizes_;
  DType dtype_ = DType::kUndefined;
  std::string first_name_, first_type_;
  at::Tensor stacked_;
};

// One stack per input. An item is in all of them or in none.
class Stacks {
 public:
  explicit Stacks(std::int64_t capacity) : capacity_(capacity) {}

  void add(const Sample& sample) {
    const NamedValues& values = sample.inputs.values();
    if (stacks_.empty())
      for (const auto& [name, value] : values) stacks_.try_emplace(name, capacity_);
    QUENCH_CHECK(stacks_.size() == values.size(), "it gives ", values.size(), " inputs, but the item before it gave ",
                 stacks_.size());
    for (const auto& [name, value] : values)
      QUENCH_CHECK(stacks_.contains(name), "it gives '", name, "', but the item before it did not");
    for (const auto& [name, value] : values) stacks_.at(name).check(value);
    for (const auto& [name, value] : values) stacks_.at(name).add(sample, value);
  }
  InputValues finish() const {
    NamedValues values;
    for (const auto& [name, stack] : stacks_) values[name] = stack.finish();
    return values;
  }

 private:
  std::int64_t capacity_;
  std::map<std::string, Stack> stacks_;
};

}  // namespace

MadeBatch make_batch(const Dataset& dataset, std::span<const std::int64_t> items, bool skip_broken,
                     const std::atomic<bool>& stop) {
  MadeBatch made;
  Stacks stacks(static_cast<std::int64_t>(items.size()));
  for (const std::int64_t item : items) {
    if (stop) return {};
    try {
      Sample sample =
          with_context([&] { return concat("while reading item ", item); }, [&] { return dataset.get(item); });
      with_context([&] { return concat("while reading '", sample.name, "'"); }, [&] { stacks.add(sample); });
      made.batch.labels.push_back(sample.label);
      made.batch.names.push_back(std::move(sample.name));
      made.batch.indices.push_back(item);
      made.batch.lengths.push_back(sample.length);
      made.batch.targets.push_back(std::move(sample.targets));
      made.batch.placements.push_back(sample.placement);
    } catch (const Error& error) {
      if (!skip_broken) throw;
      made.skipped.emplace_back(error.what());
    }
  }
  made.batch.inputs = stacks.finish();
  made.batch.shared = dataset.shared();
  return made;
}

}  // namespace quench
