// dataset_of: data that a program holds in memory or generates as it goes.
#include <ATen/ATen.h>

#include "quench/data.h"

namespace quench {
namespace {

class InMemory : public Dataset {
 public:
  InMemory(std::int64_t size, std::function<Sample(std::int64_t)> get, Task task, std::vector<std::int64_t> labels = {})
      : size_(size), get_(std::move(get)), task_(task), labels_(std::move(labels)) {
    QUENCH_CHECK(size_ >= 0, "a data set of ", size_, " items is impossible");
    QUENCH_CHECK(get_, "the function that gives the items is empty");
  }
  std::int64_t size() const override { return size_; }
  Task task() const override { return task_; }
  std::vector<std::int64_t> labels() const override { return labels_; }
  Sample get(std::int64_t index) const override {
    QUENCH_CHECK(index >= 0 && index < size_, "there is no item ", index, " among ", size_);
    Sample sample = get_(index);
    if (sample.name.empty()) sample.name = std::to_string(index);
    return sample;
  }

 private:
  std::int64_t size_;
  std::function<Sample(std::int64_t)> get_;
  Task task_;
  std::vector<std::int64_t> labels_;
};

}  // namespace

std::unique_ptr<Dataset> dataset_of(std::int64_t size, std::function<Sample(std::int64_t)> get, Task task) {
  return std::make_unique<InMemory>(size, std::move(get), task);
}

std::unique_ptr<Dataset> dataset_of(std::vector<at::Tensor> items, std::vector<std::int64_t> labels) {
  QUENCH_CHECK(labels.empty() || labels.size() == items.size(), "there are ", items.size(), " items, but ",
               labels.size(), " labels");
  const Task task = labels.empty() ? Task::kNone : Task::kClassify;
  const auto size = static_cast<std::int64_t>(items.size());
  const auto get = [items = std::move(items), labels](std::int64_t index) -> Sample {
    const auto at = static_cast<std::size_t>(index);
    return {items[at], labels.empty() ? -1 : labels[at]};
  };
  return std::make_unique<InMemory>(size, get, task, std::move(labels));
}

}  // namespace quench
