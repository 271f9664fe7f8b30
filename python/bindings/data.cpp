// Batches of tensors that Python holds, as a data set: items are rows of them, never copied here.
#include <ATen/ATen.h>

#include <algorithm>

#include "quench/data.h"
#include "quench/error.h"
#include "values.h"

namespace quench::python {
namespace {

struct PythonBatch {
  Tensors inputs;                    // rows along dimension 0
  std::vector<std::int64_t> labels;  // one per row, or none
  Tensors targets;
};

class Batches : public Dataset {
 public:
  explicit Batches(std::vector<PythonBatch> batches) : batches_(std::move(batches)) {
    for (const PythonBatch& batch : batches_) {
      ends_.push_back(size() + rows_of(batch));
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
    const PythonBatch& batch = batches_.at(at);
    const std::int64_t row = index - (at == 0 ? 0 : ends_[at - 1]);
    Sample sample{.inputs = row_of(batch.inputs, row), .name = std::to_string(index)};
    if (is_labelled_) sample.label = batch.labels[static_cast<std::size_t>(row)];
    if (has_targets_) sample.targets = row_of(batch.targets, row);
    return sample;
  }

 private:
  static NamedValues row_of(const Tensors& tensors, std::int64_t row) {
    NamedValues values;
    for (const auto& [name, tensor] : tensors) values[name] = tensor.select(0, row);
    return values;
  }
  std::int64_t rows_of(const PythonBatch& batch) const {
    const std::int64_t rows = batch.inputs.begin()->second.size(0);
    for (const Tensors* tensors : {&batch.inputs, &batch.targets})
      for (const auto& [name, tensor] : *tensors)
        QUENCH_CHECK(tensor.dim() > 0 && tensor.size(0) == rows, "batch ", ends_.size(), " of the data has ", rows,
                     " items, but '", name, "' is of shape ", tensor.sizes());
    QUENCH_CHECK(batch.labels.empty() || static_cast<std::int64_t>(batch.labels.size()) == rows, "batch ", ends_.size(),
                 " of the data has ", rows, " items, but ", batch.labels.size(), " labels");
    return rows;
  }

  std::vector<PythonBatch> batches_;
  std::vector<std::int64_t> ends_;
  bool is_labelled_ = true, has_targets_ = true;
};

using BatchTuple = std::tuple<Tensors, std::vector<std::int64_t>, Tensors>;

std::unique_ptr<Dataset> batches(const std::vector<BatchTuple>& tuples) {
  std::vector<PythonBatch> all;
  for (const auto& [inputs, labels, targets] : tuples) all.push_back({inputs, labels, targets});
  return std::make_unique<Batches>(std::move(all));
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
  module.def("open_data", &open_spec, py::call_guard<py::gil_scoped_release>());
}

}  // namespace quench::python
