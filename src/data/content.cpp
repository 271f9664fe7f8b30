#include "data/content.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/hash.h"
#include "data/dataset_view.h"
#include "kernels/parallel.h"
#include "quench/error.h"

namespace quench {
namespace {

std::uint64_t hash_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.cpu().contiguous();
  return stable_hash({static_cast<const char*>(flat.const_data_ptr()), flat.nbytes()});
}

std::string value_text(const RtValue& value) {
  if (!value.is_tensor()) return "";
  return concat(value.type().text(), " ", hash_text(hash_of(value.tensor())));
}

class Chosen : public DatasetView {
 public:
  Chosen(const Dataset& data, std::vector<std::int64_t> items) : DatasetView(data), items_(std::move(items)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(items_.size()); }
  Sample get(std::int64_t index) const override { return data().get(items_.at(static_cast<std::size_t>(index))); }
  std::vector<std::int64_t> labels() const override {
    const std::vector<std::int64_t> all = data().labels();
    std::vector<std::int64_t> labels;
    for (const std::int64_t item : all.empty() ? std::vector<std::int64_t>() : items_)
      labels.push_back(all.at(static_cast<std::size_t>(item)));
    return labels;
  }

 private:
  std::vector<std::int64_t> items_;
};

// Nothing for an item that cannot be read.
std::optional<std::uint64_t> item_hash(const Dataset& data, std::int64_t index) {
  try {
    return with_context([&] { return concat("while reading item ", index); },
                        [&] { return stable_hash(content_text(data.get(index).inputs.values())); });
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Equal hashes are equal items: which of them comes first makes no difference.
std::vector<std::int64_t> by_content(const Dataset& data) {
  std::vector<std::optional<std::uint64_t>> hashes(static_cast<std::size_t>(data.size()));
  in_parallel(data.size(), 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t index = first; index < last; ++index)
      hashes[static_cast<std::size_t>(index)] = item_hash(data, index);
  });
  std::vector<std::int64_t> items;
  for (std::int64_t index = 0; index < data.size(); ++index)
    if (hashes[static_cast<std::size_t>(index)]) items.push_back(index);
  std::stable_sort(items.begin(), items.end(), [&](std::int64_t a, std::int64_t b) {
    return hashes[static_cast<std::size_t>(a)] < hashes[static_cast<std::size_t>(b)];
  });
  return items;
}

}  // namespace

std::string content_text(const NamedValues& values) {
  std::string text;
  for (const auto& [name, value] : values) text += concat(" ", name, " ", value_text(value));
  return text;
}

std::unique_ptr<Dataset> sample_of(const Dataset& data, std::int64_t count) {
  QUENCH_CHECK(count > 0, "a sample of ", count, " items is impossible");
  std::vector<std::int64_t> items;
  if (data.feedback().states.empty()) {
    items = by_content(data);
  } else {
    items.resize(static_cast<std::size_t>(data.size()));
    std::iota(items.begin(), items.end(), 0);
  }
  items.resize(std::min(items.size(), static_cast<std::size_t>(count)));
  return std::make_unique<Chosen>(data, std::move(items));
}

}  // namespace quench
