// Batches of tensors that Python holds or gives one after the other, as data sets: items are rows of them, never copied
// here.
#include <ATen/ATen.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "quench/data.h"
#include "quench/error.h"
#include "values.h"

namespace quench::python {
namespace {

using BatchTuple = std::tuple<Tensors, std::vector<std::int64_t>, Tensors>;

struct PythonBatch {
  Tensors inputs;                    // rows along dimension 0
  std::vector<std::int64_t> labels;  // one per row, or none
  Tensors targets;
};

PythonBatch batch_of(const BatchTuple& tuple) { return {std::get<0>(tuple), std::get<1>(tuple), std::get<2>(tuple)}; }

// How many items it has, which all of its parts must have.
std::int64_t rows_of(const PythonBatch& batch, std::size_t number) {
  QUENCH_CHECK(!batch.inputs.empty(), "batch ", number, " of the data has no input of the model");
  const at::Tensor& first = batch.inputs.begin()->second;
  QUENCH_CHECK(first.dim() > 0, "batch ", number, " of the data is a single number, not a batch of items");
  const std::int64_t rows = first.size(0);
  for (const Tensors* tensors : {&batch.inputs, &batch.targets})
    for (const auto& [name, tensor] : *tensors)
      QUENCH_CHECK(tensor.dim() > 0 && tensor.size(0) == rows, "batch ", number, " of the data has ", rows,
                   " items, but '", name, "' is of shape ", tensor.sizes());
  QUENCH_CHECK(batch.labels.empty() || static_cast<std::int64_t>(batch.labels.size()) == rows, "batch ", number,
               " of the data has ", rows, " items, but ", batch.labels.size(), " labels");
  return rows;
}

NamedValues row_of(const Tensors& tensors, std::int64_t row) {
  NamedValues values;
  for (const auto& [name, tensor] : tensors) values[name] = tensor.select(0, row);
  return values;
}

Sample sample_of(const PythonBatch& batch, std::int64_t row, std::int64_t index) {
  Sample sample{.inputs = row_of(batch.inputs, row), .name = std::to_string(index)};
  if (!batch.labels.empty()) sample.label = batch.labels[static_cast<std::size_t>(row)];
  sample.targets = row_of(batch.targets, row);
  return sample;
}

class Batches : public Dataset {
 public:
  explicit Batches(std::vector<PythonBatch> batches) : batches_(std::move(batches)) {
    for (const PythonBatch& batch : batches_) {
      ends_.push_back(size() + rows_of(batch, ends_.size()));
      is_labelled_ = is_labelled_ && !batch.labels.empty();
      has_targets_ = has_targets_ && !batch.targets.empty();
    }
    QUENCH_CHECK(size() > 0, "the data gives no items");
  }
  std::int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  Task task() const override { return is_labelled_ ? Task::kClassify : Task::kNone; }
  std::string target_kind() const override { return has_targets_ ? "python" : ""; }

  Sample get(std::int64_t index) const override {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), index);
    const auto at = static_cast<std::size_t>(end - ends_.begin());
    return sample_of(batches_.at(at), index - (at == 0 ? 0 : ends_[at - 1]), index);
  }

 private:
  std::vector<PythonBatch> batches_;
  std::vector<std::int64_t> ends_;
  bool is_labelled_ = true, has_targets_ = true;
};

// One batch at a time in memory: for a single pass, in order. next() is Python's; it gives None at the end.
class Stream : public Dataset {
 public:
  Stream(std::int64_t size, py::function next) : size_(size), next_(std::move(next)) { advance(); }
  ~Stream() override {
    const py::gil_scoped_acquire gil;
    next_ = py::function();
  }
  std::int64_t size() const override { return size_; }
  Task task() const override { return is_labelled_ ? Task::kClassify : Task::kNone; }
  std::string target_kind() const override { return has_targets_ ? "python" : ""; }

  Sample get(std::int64_t index) const override {
    const std::lock_guard lock(mutex_);
    QUENCH_CHECK(index >= begin_, "the data is read once, in order: item ", index, " is gone");
    while (index >= begin_ + rows_) advance();
    return sample_of(batch_, index - begin_, index);
  }

 private:
  void advance() const {
    const py::gil_scoped_acquire gil;
    std::optional<BatchTuple> tuple;
    try {
      tuple = next_().cast<std::optional<BatchTuple>>();
    } catch (const py::error_already_set& error) {  // Python kept it
      fail("the data could not be read: ", error.what());
    }
    begin_ += rows_;
    QUENCH_CHECK(tuple, "the data promised ", size_, " items, but ended after ", begin_);
    batch_ = batch_of(*tuple);
    rows_ = rows_of(batch_, number_++);
    QUENCH_CHECK(begin_ + rows_ <= size_, "the data promised ", size_, " items, but gives more");
    if (number_ == 1) is_labelled_ = !batch_.labels.empty(), has_targets_ = !batch_.targets.empty();
    QUENCH_CHECK(is_labelled_ == !batch_.labels.empty() && has_targets_ == !batch_.targets.empty(), "batch ",
                 number_ - 1, " of the data has other targets than the first one, or none");
  }

  std::int64_t size_;
  py::function next_;
  mutable std::mutex mutex_;
  mutable PythonBatch batch_;
  mutable std::int64_t begin_ = 0, rows_ = 0;
  mutable std::size_t number_ = 0;
  mutable bool is_labelled_ = true, has_targets_ = true;
};

std::unique_ptr<Dataset> batches(const std::vector<BatchTuple>& tuples) {
  std::vector<PythonBatch> all;
  for (const BatchTuple& tuple : tuples) all.push_back(batch_of(tuple));
  return std::make_unique<Batches>(std::move(all));
}

std::unique_ptr<Dataset> stream(std::int64_t size, const py::function& next) {
  return std::make_unique<Stream>(size, next);
}

// At most `limit` items, if that is not 0.
std::unique_ptr<Dataset> open_spec(const std::string& text, const Graph& graph, std::int64_t limit) {
  DatasetSpec spec = parse_spec(text);
  const std::int64_t given = integer_option(spec, "limit", 1).value_or(limit);
  if (limit > 0) spec.options["limit"] = std::to_string(std::min(given, limit));
  return open_dataset(spec, graph);
}

}  // namespace

void bind_data(py::module_& module) {
  py::class_<Dataset>(module, "Dataset").def("__len__", &Dataset::size);
  module.def("batches", &batches);
  module.def("stream", &stream);
  module.def("open_data", &open_spec, py::call_guard<py::gil_scoped_release>());
}

}  // namespace quench::python
