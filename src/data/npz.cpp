// npz: arrays that are ready for the model, item by item along dimension 0. The array 'input' or 'x' is
// the input, 'labels' or 'y' (optional) the labels.
#include "quench/npz.h"

#include <ATen/ATen.h>

#include "data/normalize.h"
#include "graph/tensor_types.h"

namespace quench {
namespace {

using Arrays = std::map<std::string, RtValue>;

std::string names_of(const Arrays& arrays) {
  std::string list;
  for (const auto& [name, value] : arrays) list += (list.empty() ? "'" : ", '") + name + "'";
  return list;
}

// The array that option `key` names, else the first of the usual names; null when there is none.
const RtValue* find_array(const Arrays& arrays, const DatasetSpec& spec, const char* key,
                          const std::vector<std::string>& usual) {
  if (const auto name = text_option(spec, key)) {
    const auto at = arrays.find(*name);
    QUENCH_CHECK(at != arrays.end(), "there is no array '", *name, "' (", key, "=); it holds ", names_of(arrays));
    return &at->second;
  }
  for (const std::string& name : usual) {
    if (const auto at = arrays.find(name); at != arrays.end()) return &at->second;
  }
  return nullptr;
}

class Npz : public Dataset {
 public:
  Npz(const DatasetSpec& spec, const InputHint& hint) {
    const Arrays arrays = read_npz(spec.path);
    const RtValue* input = find_array(arrays, spec, "input", {"input", "x", "array"});
    QUENCH_CHECK(input != nullptr, "there is no array 'input' or 'x'; it holds ", names_of(arrays),
                 "; name the one with input=NAME");
    inputs_ = *input;
    const at::Tensor& tensor = inputs_.tensor();
    QUENCH_CHECK(tensor.dim() > 0 && tensor.size(0) > 0, "the input array has no items: its shape is ",
                 text_of(dims_of(tensor)));
    if (tensor.dim() == 4) check_image_shape("its items", {tensor.size(1), tensor.size(2), tensor.size(3)}, hint);
    if (const RtValue* labels = find_array(arrays, spec, "labels", {"labels", "y"})) read_labels(*labels);
  }
  std::int64_t size() const override { return inputs_.tensor().size(0); }
  Task task() const override { return labels_.empty() ? Task::kNone : Task::kClassify; }
  Sample get(std::int64_t index) const override {
    const std::int64_t label = labels_.empty() ? -1 : labels_[static_cast<std::size_t>(index)];
    return {RtValue(inputs_.tensor().select(0, index), inputs_.dtype()), label, std::to_string(index)};
  }

 private:
  void read_labels(const RtValue& labels) {
    const at::Tensor& tensor = labels.tensor();
    QUENCH_CHECK(is_integer(labels.dtype()), "the labels are ", name_of(labels.dtype()), ", not integers");
    QUENCH_CHECK(tensor.numel() == size(), "there are ", size(), " items, but ", tensor.numel(), " labels");
    labels_ = integers_of(tensor);
  }

  RtValue inputs_;
  std::vector<std::int64_t> labels_;
};

std::unique_ptr<Dataset> open_npz(const DatasetSpec& spec, const InputHint& hint) {
  return std::make_unique<Npz>(spec, hint);
}

}  // namespace

QUENCH_REGISTER_DATASET("npz", open_npz, "NumPy arrays ready for the model: 'input' or 'x', and 'labels' or 'y'",
                        "input", "labels")

}  // namespace quench
