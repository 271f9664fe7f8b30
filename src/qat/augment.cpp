#include "qat/augment.h"

#include <ATen/ATen.h>

namespace quench {

at::Tensor random_shift(const at::Tensor& images, std::int64_t pixels, const at::Generator& generator) {
  if (pixels == 0) return images;
  const std::int64_t count = images.size(0);
  const auto positions = [&](std::int64_t size) {  // [count, size]: where each
                                                   // row or column comes from
    const at::Tensor offset = at::randint(-pixels, pixels + 1, {count, 1}, generator, at::kLong);
    return at::clamp(at::arange(size, at::kLong).view({1, size}) + offset, 0, size - 1);
  };
  const at::Tensor rows = positions(images.size(2)), columns = positions(images.size(3));
  const at::Tensor shifted = at::gather(images, 2, rows.view({count, 1, -1, 1}).expand_as(images));
  return at::gather(shifted, 3, columns.view({count, 1, 1, -1}).expand_as(images));
}

at::Tensor random_crop(const at::Tensor& images, std::int64_t pixels, const at::Generator& generator) {
  if (pixels == 0) return images;
  const at::Tensor padded = at::constant_pad_nd(images, {pixels, pixels, pixels, pixels}, 0);
  const std::int64_t height = images.size(2), width = images.size(3);
  const at::Tensor corners = at::randint(0, 2 * pixels + 1, {images.size(0), 2}, generator, at::kLong);
  at::Tensor cropped = at::empty_like(images);
  for (std::int64_t i = 0; i < images.size(0); ++i) {
    const std::int64_t* corner = corners.const_data_ptr<std::int64_t>() + 2 * i;
    cropped[i].copy_(padded[i].narrow(1, corner[0], height).narrow(2, corner[1], width));
  }
  return cropped;
}

at::Tensor random_flip(const at::Tensor& images, const at::Generator& generator) {
  const at::Tensor chosen = at::randint(0, 2, {images.size(0), 1, 1, 1}, generator, at::kBool);
  return at::where(chosen, images.flip(3), images);
}

}  // namespace quench
