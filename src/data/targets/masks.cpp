// masks: a folder with one mask per picture, of the same name: a PNG whose grey or palette index is the class, or an
// .npy array. A mask follows what was done to its picture: each pixel of the input gets the class of the nearest one of
// the mask, and -1 outside of the picture.
#include <ATen/ATen.h>

#include <cmath>
#include <filesystem>

#include "data/image.h"
#include "data/read_file.h"
#include "data/targets/item_file.h"
#include "quench/npz.h"
#include "quench/targets.h"

namespace quench {
namespace {

constexpr std::uintmax_t kLargestFile = std::uintmax_t{256} << 20;

at::Tensor read_mask(const std::string& file) {
  if (file.ends_with(".npy")) {
    const at::Tensor mask = read_npz(file).at("array").tensor();
    QUENCH_CHECK(!mask.is_floating_point(), "the mask '", file, "' holds ", mask.dtype().name(),
                 ", not integers: its numbers must be classes (write it with astype('uint8'))");
    QUENCH_CHECK(mask.dim() == 2, "the mask '", file, "' has the shape ", mask.sizes(),
                 "; integers of [height, width] were expected");
    return mask.to(at::kLong);
  }
  const Image image = decode_png_ids(read_file(file, kLargestFile));
  at::Tensor mask = at::empty({image.height, image.width}, at::kByte);
  std::copy(image.bytes.begin(), image.bytes.end(), mask.mutable_data_ptr<std::uint8_t>());
  return mask.to(at::kLong);
}

// For each pixel of a side of the input, the one of the mask that its centre falls on; -1: none.
std::vector<std::int64_t> sources(std::int64_t side, std::int64_t mask_side, double scale, double offset) {
  std::vector<std::int64_t> found;
  for (std::int64_t at = 0; at < side; ++at) {
    const auto source = static_cast<std::int64_t>(std::floor((static_cast<double>(at) + 0.5 - offset) / scale));
    found.push_back(source >= 0 && source < mask_side ? source : -1);
  }
  return found;
}

at::Tensor placed(const at::Tensor& mask, const Placement& placement, std::int64_t height, std::int64_t width) {
  const auto rows = sources(height, mask.size(0), placement.scale_y, placement.top);
  const auto columns = sources(width, mask.size(1), placement.scale_x, placement.left);
  at::Tensor result = at::full({height, width}, -1, at::kLong);
  const auto* from = mask.const_data_ptr<std::int64_t>();
  auto* to = result.mutable_data_ptr<std::int64_t>();
  for (const std::int64_t row : rows)
    for (const std::int64_t column : columns) {
      if (row >= 0 && column >= 0) *to = from[row * mask.size(1) + column];
      ++to;
    }
  return result;
}

class Masks : public Targets {
 public:
  explicit Masks(std::string folder) : folder_(std::move(folder)) {
    QUENCH_CHECK(std::filesystem::is_directory(folder_), "there is no folder '", folder_, "'");
  }
  NamedValues get(std::int64_t, const Sample& sample) const override {
    const std::string file = item_file(folder_, sample.name, {".png", ".npy"});
    const at::Tensor mask = read_mask(file).contiguous();
    const Placement& place = sample.placement;
    QUENCH_CHECK(place.height == 0 || (mask.size(0) == place.height && mask.size(1) == place.width), "the mask '", file,
                 "' is ", mask.size(1), " x ", mask.size(0), " pixels, but its picture is ", place.width, " x ",
                 place.height);
    if (place == Placement{.height = place.height, .width = place.width}) return {{"mask", mask}};
    const at::Tensor& input = sample.inputs.values().begin()->second.tensor();
    return {{"mask", placed(mask, place, input.size(-2), input.size(-1))}};
  }

 private:
  std::string folder_;
};

std::unique_ptr<Targets> open_masks(const std::string& path) { return std::make_unique<Masks>(path); }

}  // namespace

QUENCH_REGISTER_TARGETS("masks", open_masks, "a folder with a mask per picture: PNG of class numbers, or .npy")

}  // namespace quench
