// cifar10: the binary files of the CIFAR-10 authors. A record is one label byte and 3 x 32 x 32 bytes,
// planes of red, green and blue.
#include <ATen/ATen.h>

#include <filesystem>

#include "data/normalize.h"
#include "data/read_file.h"

namespace quench {
namespace {

constexpr std::int64_t kChannels = 3, kSide = 32, kPixels = kSide * kSide;
constexpr std::int64_t kRecord = 1 + kChannels * kPixels;
constexpr std::int64_t kClasses = 10;
constexpr std::uintmax_t kLargestFile = std::uintmax_t{4} << 30;

// A file, or all of a folder's data_batch_*.bin: the training set.
std::vector<std::string> files_of(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("data_batch_") && name.ends_with(".bin")) files.push_back(entry.path().string());
  }
  QUENCH_CHECK(!files.empty(), "the folder '", path, "' holds no data_batch_*.bin");
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::uint8_t> read_records(const std::string& path) {
  std::vector<std::uint8_t> bytes = read_file(path, kLargestFile);
  QUENCH_CHECK(bytes.size() % kRecord == 0, "'", path, "' has ", bytes.size(),
               " bytes, which is not a multiple of a CIFAR-10 record's ", kRecord, ": truncated, or not such a file");
  return bytes;
}

class Cifar10 : public Dataset {
 public:
  Cifar10(const DatasetSpec& spec, const InputHint& hint) : normalizer_(spec, kChannels) {
    for (const std::string& file : files_of(spec.path)) {
      const std::vector<std::uint8_t> records = read_records(file);
      bytes_.insert(bytes_.end(), records.begin(), records.end());
    }
    check_image_shape("CIFAR-10 images", {kChannels, kSide, kSide}, hint);
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(bytes_.size()) / kRecord; }
  Task task() const override { return Task::kClassify; }
  std::vector<std::string> classes() const override {
    return {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
  }
  std::vector<std::int64_t> labels() const override {
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < size(); ++i) labels.push_back(bytes_[static_cast<std::size_t>(i * kRecord)]);
    return labels;
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

QUENCH_REGISTER_DATASET("cifar10", open_cifar10,
                        "a binary file of CIFAR-10 (or a folder of data_batch_*.bin): 32x32 images in 10 classes",
                        "norm", "mean", "std")

}  // namespace quench
