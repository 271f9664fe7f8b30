// Random changes of a batch of images [N, C, H, W], drawn from the given generator. Where the images are a part of a
// larger batch the numbers are drawn for all of it, so that each image gets what it would get there.
#pragma once

#include <cstdint>

#include "quench/train.h"

namespace at {
class Tensor;
struct Generator;
}  // namespace at

namespace quench {

struct PartOfBatch {
  std::int64_t first = 0, of = 0;  // its first item, and of how many; 0: it is all of them
};

// A random window of each image padded by this many pixels of zeros.
at::Tensor random_crop(const at::Tensor& images, std::int64_t pixels, const at::Generator& generator,
                       const PartOfBatch& part = {});
// Half of them, left to right.
at::Tensor random_flip(const at::Tensor& images, const at::Generator& generator, const PartOfBatch& part = {});

// All images among a model's inputs, by the options; the seed alone decides what is drawn.
NamedValues augmented(NamedValues inputs, const AugmentOptions& options, std::uint64_t seed,
                      const PartOfBatch& part = {});

}  // namespace quench
