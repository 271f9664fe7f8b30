// arrays: an .npz or .npy file with the items along the first axis of each array, or a folder with one file per item.
#include <ATen/ATen.h>

#include <filesystem>

#include "data/npz_arrays.h"
#include "data/targets/item_file.h"
#include "quench/targets.h"

namespace quench {
namespace {

class ArrayFile : public Targets {
 public:
  explicit ArrayFile(const std::string& path) : arrays_(item_arrays(read_npz(path), {})) {
    QUENCH_CHECK(arrays_.shared.empty() && !arrays_.items.empty(),
                 "every array of targets must have the items along its first axis");
  }
  std::int64_t size() const override { return arrays_.size(); }
  NamedValues get(std::int64_t index, const Sample&) const override { return arrays_.item(index); }

 private:
  ItemArrays arrays_;
};

class ArrayFolder : public Targets {
 public:
  explicit ArrayFolder(std::string folder) : folder_(std::move(folder)) {}
  NamedValues get(std::int64_t, const Sample& sample) const override {
    return read_npz(item_file(folder_, sample.name, {".npz", ".npy"}));
  }

 private:
  std::string folder_;
};

std::unique_ptr<Targets> open_arrays(const std::string& path) {
  if (std::filesystem::is_directory(path)) return std::make_unique<ArrayFolder>(path);
  return std::make_unique<ArrayFile>(path);
}

}  // namespace

QUENCH_REGISTER_TARGETS("arrays", open_arrays,
                        "NumPy arrays: a file with the items along the first axis, or a folder with a file per item")

}  // namespace quench
