// idx: the format of MNIST and its relatives (gzip'd or not). Two zero bytes, a type byte, the rank, the
// dims as big-endian 32-bit numbers, then the elements.
#include <ATen/ATen.h>

#include "data/normalize.h"
#include "data/read_file.h"

namespace quench {
namespace {

constexpr std::size_t kLargestArray = std::size_t{4} << 30;
constexpr std::uint8_t kUnsignedByte = 0x08;

struct IdxArray {
  std::vector<std::int64_t> dims;
  std::vector<std::uint8_t> bytes;
};

IdxArray read_idx(const std::string& path, std::size_t rank, const char* what) {
  GzipFile file(path);
  const std::vector<std::uint8_t> magic = file.read(4);
  QUENCH_CHECK(magic[0] == 0 && magic[1] == 0 && magic[2] >= 0x08 && magic[2] <= 0x0E, "'", path,
               "' is not an IDX file: it does not begin with two zero bytes and a type");
  QUENCH_CHECK(magic[2] == kUnsignedByte, "'", path, "' holds IDX elements of type ", int{magic[2]},
               "; only unsigned bytes (8) are read");
  QUENCH_CHECK(magic[3] == rank, "'", path, "' has ", int{magic[3]}, " dimensions; IDX ", what, " have ", rank);
  IdxArray array;
  std::size_t count = 1;
  const std::vector<std::uint8_t> dims = file.read(4 * rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::uint8_t* at = dims.data() + 4 * i;
    const std::size_t dim = std::size_t{at[0]} << 24 | std::size_t{at[1]} << 16 | std::size_t{at[2]} << 8 | at[3];
    QUENCH_CHECK(dim > 0, "'", path, "' has a dimension of 0");
    QUENCH_CHECK(dim <= kLargestArray / count, "'", path, "' claims more than ", kLargestArray, " bytes");
    count *= dim;
    array.dims.push_back(static_cast<std::int64_t>(dim));
  }
  array.bytes = file.read(count);
  file.expect_end();
  return array;
}

class Idx : public Dataset {
 public:
  Idx(const DatasetSpec& spec, const InputHint& hint)
      : normalizer_(spec, 1), images_(read_idx(spec.path, 3, "images")) {
    check_image_shape("the IDX images", {1, images_.dims[1], images_.dims[2]}, hint);
    if (const auto path = text_option(spec, "labels")) {
      labels_ = read_idx(*path, 1, "labels").bytes;
      QUENCH_CHECK(labels_.size() == static_cast<std::size_t>(size()), "'", spec.path, "' has ", size(),
                   " images, but '", *path, "' has ", labels_.size(), " labels");
    }
  }
  std::int64_t size() const override { return images_.dims[0]; }
  Task task() const override { return labels_.empty() ? Task::kNone : Task::kClassify; }
  std::vector<std::int64_t> labels() const override { return {labels_.begin(), labels_.end()}; }
  Sample get(std::int64_t index) const override {
    const std::int64_t height = images_.dims[1], width = images_.dims[2];
    at::Tensor image = at::empty({1, height, width}, at::kFloat);
    normalizer_.planar(images_.bytes.data() + index * height * width, image.mutable_data_ptr<float>(), height * width);
    const std::int64_t label = labels_.empty() ? -1 : labels_[static_cast<std::size_t>(index)];
    return {image, label, std::to_string(index)};
  }

 private:
  Normalizer normalizer_;
  IdxArray images_;
  std::vector<std::uint8_t> labels_;
};

std::unique_ptr<Dataset> open_idx(const DatasetSpec& spec, const InputHint& hint) {
  return std::make_unique<Idx>(spec, hint);
}

}  // namespace

QUENCH_REGISTER_DATASET("idx", open_idx, "an IDX file of grey images, gzip'd or not (MNIST); labels= names the labels",
                        "labels", "norm", "mean", "std")

}  // namespace quench
