// Random changes of a batch of images [N, C, H, W], drawn from the given generator.
#pragma once

#include <cstdint>

namespace at {
class Tensor;
struct Generator;
}  // namespace at

namespace quench {

// Each image by its own dx and dy in [-pixels, pixels]; what comes in from outside repeats the edge.
at::Tensor random_shift(const at::Tensor& images, std::int64_t pixels, const at::Generator& generator);
// The same with zeros from outside: a window of the image padded by so many pixels.
at::Tensor random_crop(const at::Tensor& images, std::int64_t pixels, const at::Generator& generator);
at::Tensor random_flip(const at::Tensor& images,
                       const at::Generator& generator);  // half of them, left to right

}  // namespace quench
