// cifar10: the binary files of the CIFAR-10 authors. A record is one label byte and 3 x 32 x 32 bytes,
// planes of red, green and blue.
#include <ATen/ATen.h>

#include "data/normalize.h"
#include "data/read_file.h"

namespace quench {
namespace {

constexpr std::int64_t kChannels = 3, kSide = 32, kPixels = kSide * kSide;
constexpr std::int64_t kRecord = 1 + kChannels * kPixels;
constexpr std::int64_t kClasses = 10;
constexpr std::uintmax_t kLargestFile = std::uintmax_t{4} << 30;

class Cifar10 : public Dataset {
 public:
  Cifar10(const DatasetSpec& spec, const InputHint& hint)
      : normalizer_(spec, kChannels), bytes_(read_file(spec.path, kLargestFile)) {
    QUENCH_CHECK(bytes_.size() % kRecord == 0, "'", spec.path, "' has ", bytes_.size(),
                 " bytes, which is not a multiple of a CIFAR-10 record's ", kRecord, ": truncated, or not such a file");
    check_image_shape("CIFAR-10 images", {kChannels, kSide, kSide}, hint);
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(bytes_.size()) / kRecord; }
  Task task() const override { return Task::kClassify; }
  std::vector<std::string> classes() const override {
    return {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
  }
  Sample get(std::int64_t index) const override {
    const std::uint8_t* record = bytes_.data() + index * kRecord;
    QUENCH_CHECK(record[0] < kClasses, "label ", int{record[0]}, " is not one of CIFAR-10's 0 to ", kClasses - 1);
    at::Tensor image = at::empty({kChannels, kSide, kSide}, at::kFloat);
    normalizer_.planar(record + 1, image.mutable_data_ptr<float>(), kPixels);
    return {image, record[0], std::to_string(index)};
  }

 private:
  Normalizer normalizer_;
  std::vector<std::uint8_t> bytes_;
};

std::unique_ptr<Dataset> open_cifar10(const DatasetSpec& spec, const InputHint& hint) {
  return std::make_unique<Cifar10>(spec, hint);
}

}  // namespace

QUENCH_REGISTER_DATASET("cifar10", open_cifar10, "a binary file of CIFAR-10: 32x32 images in 10 classes", "norm",
                        "mean", "std")

}  // namespace quench
