// From bytes to the floats a model takes: (x / 255 - mean) / std per channel, in float32, step by step as
// torchvision's ToTensor and Normalize do it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "quench/data.h"

namespace quench {

// The norm=, mean= and std= options that image-like kinds share.
class Normalizer {
 public:
  // Throws when the spec has none of them, naming the usual ones; or has one that does not fit `channels`.
  Normalizer(const DatasetSpec& spec, std::int64_t channels);

  void planar(const std::uint8_t* from, float* to, std::int64_t pixels) const;       // CHW -> CHW
  void interleaved(const std::uint8_t* from, float* to, std::int64_t pixels) const;  // HWC -> CHW

 private:
  std::vector<std::array<float, 256>> tables_;  // one per channel
};

// Throws when the model takes another shape. `what` names the data: "CIFAR-10 images".
void check_image_shape(const char* what, const InputHint& images, const InputHint& model);

}  // namespace quench
