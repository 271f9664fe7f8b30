// A data set over another one: as that is, but for what a class of its own overrides.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "quench/data.h"

namespace quench {

// Those of `count` items from `begin` on, where labels are known.
inline std::vector<std::int64_t> part_of_labels(const std::vector<std::int64_t>& labels, std::int64_t begin,
                                                std::int64_t count) {
  if (labels.empty()) return {};
  return {labels.begin() + begin, labels.begin() + begin + count};
}

class DatasetView : public Dataset {
 public:
  explicit DatasetView(const Dataset& data) : data_(&data) {}  // which must outlive it
  explicit DatasetView(std::unique_ptr<Dataset> data) : owned_(std::move(data)), data_(owned_.get()) {}

  std::int64_t size() const override { return data().size(); }
  Sample get(std::int64_t index) const override { return data().get(index); }
  Task task() const override { return data().task(); }
  std::int64_t pad_token() const override { return data().pad_token(); }
  std::vector<std::string> classes() const override { return data().classes(); }
  std::vector<std::int64_t> labels() const override { return data().labels(); }
  std::string token_input() const override { return data().token_input(); }
  NamedValues shared() const override { return data().shared(); }
  Feedback feedback() const override { return data().feedback(); }
  std::string target_kind() const override { return data().target_kind(); }

 protected:
  const Dataset& data() const { return *data_; }

 private:
  std::unique_ptr<Dataset> owned_;
  const Dataset* data_;
};

// At most so many, from the first on.
class FirstItems : public DatasetView {
 public:
  FirstItems(const Dataset& data, std::int64_t most) : DatasetView(data), most_(most) {}
  std::int64_t size() const override { return std::min(most_, data().size()); }
  std::vector<std::int64_t> labels() const override { return part_of_labels(data().labels(), 0, size()); }

 private:
  std::int64_t most_;
};

}  // namespace quench
