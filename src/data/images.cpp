// images: a folder of JPEG and PNG files, one folder per class. Pictures of the model's size are used
// unchanged; others are resized (short side 256/224 of it) and cropped in the middle, as torchvision does it.
#include <ATen/ATen.h>

#include "data/geometry.h"
#include "data/image.h"
#include "data/image_files.h"
#include "data/normalize.h"
#include "data/read_file.h"

namespace quench {
namespace {

constexpr std::uintmax_t kLargestFile = std::uintmax_t{256} << 20;

class Images : public Dataset {
 public:
  Images(const DatasetSpec& spec, const InputHint& hint)
      : found_(find_image_files(spec.path, text_option(spec, "classes").value_or(""))),
        channels_(hint.channels < 0 ? 3 : hint.channels),
        geometry_(spec, hint),
        normalizer_(spec, channels_) {
    QUENCH_CHECK(channels_ == 1 || channels_ == 3, "the model takes ", channels_,
                 " channels; pictures give 3 (RGB) or 1 (grey)");
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(found_.files.size()); }
  Task task() const override { return found_.classes.empty() ? Task::kNone : Task::kClassify; }
  std::vector<std::string> classes() const override { return found_.classes; }
  std::vector<std::int64_t> labels() const override {
    std::vector<std::int64_t> labels;
    if (task() == Task::kNone) return labels;
    for (const ImageFile& file : found_.files) labels.push_back(file.label);
    return labels;
  }
  Sample get(std::int64_t index) const override {
    const ImageFile& file = found_.files[static_cast<std::size_t>(index)];
    return with_context([&] { return concat("in the picture '", file.path, "'"); }, [&] { return read(file); });
  }

 private:
  Sample read(const ImageFile& file) const {
    Image decoded = with_channels(decode_image(read_file(file.path, kLargestFile)), channels_);
    const std::int64_t height = decoded.height, width = decoded.width;
    auto [image, placement] = geometry_.apply(std::move(decoded));
    placement.height = height;
    placement.width = width;
    at::Tensor tensor = at::empty({channels_, image.height, image.width}, at::kFloat);
    normalizer_.interleaved(image.bytes.data(), tensor.mutable_data_ptr<float>(), image.height * image.width);
    return {tensor, file.label, file.name, -1, {}, placement};
  }

  ImageFiles found_;  // first: a folder that is not there is what a user must hear of
  std::int64_t channels_;
  Geometry geometry_;
  Normalizer normalizer_;
};

std::unique_ptr<Dataset> open_images(const DatasetSpec& spec, const InputHint& hint) {
  return std::make_unique<Images>(spec, hint);
}

}  // namespace

QUENCH_REGISTER_DATASET("images", open_images,
                        "a folder of JPEG and PNG pictures, with one folder per class or without", "norm", "mean",
                        "std", "size", "resize", "crop", "classes", "fit", "border")

}  // namespace quench
