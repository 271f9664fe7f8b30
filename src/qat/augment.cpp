#include "qat/augment.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

namespace quench {
namespace {

// Whole numbers from 0 to `end` - 1, `each` per image.
at::Tensor drawn(const at::Tensor& images, const PartOfBatch& part, std::int64_t each, std::int64_t end,
                 const at::Generator& generator) {
  const std::int64_t count = images.size(0), all = part.of > 0 ? part.of : count;
  return at::randint(0, end, {all, each}, generator, at::kLong).narrow(0, part.first, count);
}

}  // namespace

at::Tensor random_crop(const at::Tensor& images, std::int64_t pixels, const at::Generator& generator,
                       const PartOfBatch& part) {
  if (pixels == 0) return images;
  const at::Tensor padded = at::constant_pad_nd(images, {pixels, pixels, pixels, pixels}, 0);
  const std::int64_t height = images.size(2), width = images.size(3);
  const at::Tensor corners = drawn(images, part, 2, 2 * pixels + 1, generator);
  at::Tensor cropped = at::empty_like(images);
  for (std::int64_t i = 0; i < images.size(0); ++i) {
    const std::int64_t* corner = corners.const_data_ptr<std::int64_t>() + 2 * i;
    cropped[i].copy_(padded[i].narrow(1, corner[0], height).narrow(2, corner[1], width));
  }
  return cropped;
}

at::Tensor random_flip(const at::Tensor& images, const at::Generator& generator, const PartOfBatch& part) {
  const at::Tensor chosen = drawn(images, part, 1, 2, generator).to(at::kBool).view({-1, 1, 1, 1});
  return at::where(chosen, images.flip(3), images);
}

NamedValues augmented(NamedValues inputs, const AugmentOptions& options, std::uint64_t seed, const PartOfBatch& part) {
  if (!options.any()) return inputs;
  const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  for (auto& [name, value] : inputs) {
    if (!value.is_tensor() || value.tensor().dim() != 4 || !value.tensor().is_floating_point()) continue;
    at::Tensor images = random_crop(value.tensor(), options.crop, generator, part);
    if (options.flip) images = random_flip(images, generator, part);
    value = RtValue(images, value.dtype());
  }
  return inputs;
}

}  // namespace quench
