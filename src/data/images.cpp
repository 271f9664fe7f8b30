// images: a folder of JPEG and PNG files, one folder per class. Pictures of the model's size are used
// unchanged; others are resized (short side 256/224 of it) and cropped in the middle, as torchvision does it.
#include <ATen/ATen.h>

#include <charconv>

#include "data/image.h"
#include "data/image_files.h"
#include "data/normalize.h"
#include "data/read_file.h"

namespace quench {
namespace {

constexpr std::uintmax_t kLargestFile = std::uintmax_t{256} << 20;
constexpr std::int64_t kLargestSide = 16384;

struct Size {
  std::int64_t height = -1, width = -1;
  bool known() const { return height > 0 && width > 0; }
};

// "224" or "320x224" (height first).
Size size_option(const DatasetSpec& spec, const char* key) {
  const auto text = text_option(spec, key);
  if (!text) return {};
  const auto number = [&](const std::string& part) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    QUENCH_CHECK(error == std::errc() && end == part.data() + part.size() && value > 0 && value <= kLargestSide,
                 "option ", key, "=", *text, " is not a size from 1 to ", kLargestSide, ", such as 224 or 320x224");
    return value;
  };
  const std::size_t cross = text->find('x');
  const std::int64_t height = number(text->substr(0, cross));
  return {height, cross == std::string::npos ? height : number(text->substr(cross + 1))};
}

// What happens to a picture after it is decoded.
class Geometry {
 public:
  Geometry(const DatasetSpec& spec, const InputHint& hint) : resize_(size_option(spec, "resize")) {
    const Size size = size_option(spec, "size"), crop = size_option(spec, "crop");
    QUENCH_CHECK(!size.known() || !crop.known(), "size= and crop= are mutually exclusive; give one of them");
    asked_ = resize_.known() || crop.known();
    final_ = size.known() ? size : crop.known() ? crop : Size{hint.height, hint.width};
    if (final_.known()) check_image_size(final_.height, final_.width);
    check_image_shape("the pictures after size= or crop=", {-1, final_.height, final_.width}, hint);
    if (!resize_.known() && !crop.known() && final_.known()) {
      resize_ = {final_.height * 256 / 224, final_.width * 256 / 224};
    }
  }

  Image apply(Image image) const {
    const bool fits = final_.known() && image.height == final_.height && image.width == final_.width;
    if (fits && !asked_) return image;
    if (resize_.known()) image = resize_to_cover(image);
    return final_.known() ? center_crop(image, final_.height, final_.width) : image;
  }

 private:
  // Keeps the proportions; the side that is shorter, as seen from the wanted size, gets it exactly.
  Image resize_to_cover(const Image& image) const {
    const auto other = [](std::int64_t wanted, std::int64_t have, std::int64_t side) {
      return static_cast<std::int64_t>(static_cast<double>(wanted * side) / static_cast<double>(have));
    };
    const bool by_width = resize_.height * image.width <= resize_.width * image.height;
    const Size size = by_width ? Size{other(resize_.width, image.width, image.height), resize_.width}
                               : Size{resize_.height, other(resize_.height, image.height, image.width)};
    return resize_bilinear(image, size.height, size.width);
  }

  Size resize_, final_;
  bool asked_ = false;  // resize= or crop= was given: done to every picture
};

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
  Sample get(std::int64_t index) const override {
    const ImageFile& file = found_.files[static_cast<std::size_t>(index)];
    return with_context([&] { return concat("in the picture '", file.path, "'"); }, [&] { return read(file); });
  }

 private:
  Sample read(const ImageFile& file) const {
    const Image image = geometry_.apply(with_channels(decode_image(read_file(file.path, kLargestFile)), channels_));
    at::Tensor tensor = at::empty({channels_, image.height, image.width}, at::kFloat);
    normalizer_.interleaved(image.bytes.data(), tensor.mutable_data_ptr<float>(), image.height * image.width);
    return {tensor, file.label, file.name};
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
                        "std", "size", "resize", "crop", "classes")

}  // namespace quench
