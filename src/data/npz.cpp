// npz: arrays that are ready for the model. In a file, one array per input with the items along its first axis; in a
// folder, one file per item. The array 'labels' or 'y' (optional) holds the labels.
#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>

#include "data/normalize.h"
#include "data/npz_arrays.h"
#include "graph/tensor_types.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

class NpzFile : public Dataset {
 public:
  NpzFile(const DatasetSpec& spec, const InputHint& hint) {
    const NamedValues arrays = read_npz(spec.path), inputs = input_arrays(arrays, spec, hint);
    arrays_ = item_arrays(inputs, shared_option(spec));
    QUENCH_CHECK(!arrays_.items.empty(), "there is no array with items along its first axis; it holds ",
                 names_of(arrays));
    QUENCH_CHECK(size() > 0, "the array '", arrays_.items.begin()->first, "' has no items: its shape is ",
                 text_of(dims_of(arrays_.items.begin()->second.tensor())));
    const at::Tensor& first = arrays_.items.begin()->second.tensor();
    if (inputs.size() == 1 && first.dim() == 4)
      check_image_shape("its items", {first.size(1), first.size(2), first.size(3)}, hint);
    const std::string labels = label_array(arrays, spec, hint);
    if (!labels.empty()) read_labels(arrays.at(labels));
    targets_ = item_arrays(target_arrays(arrays, spec), {});
    QUENCH_CHECK(targets_.shared.empty(), "the target '", targets_.shared.begin()->first,
                 "' has no axis for the items");
    QUENCH_CHECK(targets_.items.empty() || targets_.size() == size(), "there are ", size(), " items, but ",
                 targets_.size(), " targets");
  }
  std::int64_t size() const override { return arrays_.size(); }
  Task task() const override { return labels_.empty() ? Task::kNone : Task::kClassify; }
  std::vector<std::int64_t> labels() const override { return labels_; }
  NamedValues shared() const override { return arrays_.shared; }
  std::string target_kind() const override { return targets_.items.empty() ? "" : "arrays"; }
  Sample get(std::int64_t index) const override {
    const std::int64_t label = labels_.empty() ? -1 : labels_[static_cast<std::size_t>(index)];
    return {arrays_.item(index), label, std::to_string(index), -1, targets_.item(index)};
  }

 private:
  void read_labels(const RtValue& labels) {
    const at::Tensor& tensor = labels.tensor();
    QUENCH_CHECK(is_integer(labels.dtype()), "the labels are ", name_of(labels.dtype()), ", not integers");
    QUENCH_CHECK(tensor.numel() == size(), "there are ", size(), " items, but ", tensor.numel(), " labels");
    labels_ = integers_of(tensor);
  }

  ItemArrays arrays_, targets_;
  std::vector<std::int64_t> labels_;
};

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".npz" || entry.path().extension() == ".npy")
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

// One file per item: its arrays are what each input takes for it.
class NpzFolder : public Dataset {
 public:
  NpzFolder(const DatasetSpec& spec, const InputHint& hint) : spec_(spec), hint_(hint), files_(files_of(spec.path)) {
    QUENCH_CHECK(!files_.empty(), "there is no .npz or .npy file in the folder");
    labelled_ = get(0).label >= 0;
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }
  Task task() const override { return labelled_ ? Task::kClassify : Task::kNone; }
  std::string target_kind() const override { return spec_.options.contains("target") ? "arrays" : ""; }
  Sample get(std::int64_t index) const override {
    const std::string& file = files_[static_cast<std::size_t>(index)];
    const NamedValues arrays = read_npz(file);
    Sample sample{input_arrays(arrays, spec_, hint_), -1, fs::path(file).filename().string()};
    sample.targets = target_arrays(arrays, spec_);
    const std::string labels = label_array(arrays, spec_, hint_);
    if (labels.empty()) return sample;
    const RtValue& label = arrays.at(labels);
    QUENCH_CHECK(is_integer(label.dtype()) && label.tensor().numel() == 1, "the label in '", file, "' is ",
                 label.type().text(), ", not one integer");
    sample.label = integers_of(label.tensor())[0];
    return sample;
  }

 private:
  DatasetSpec spec_;
  InputHint hint_;
  std::vector<std::string> files_;
  bool labelled_ = false;
};

std::unique_ptr<Dataset> open_npz(const DatasetSpec& spec, const InputHint& hint) {
  if (fs::is_directory(spec.path)) return std::make_unique<NpzFolder>(spec, hint);
  return std::make_unique<NpzFile>(spec, hint);
}

}  // namespace

QUENCH_REGISTER_DATASET("npz", open_npz,
                        "NumPy arrays ready for the model: a file with one array per input, or a folder with one file "
                        "per item",
                        "input", "labels", "target")

}  // namespace quench
