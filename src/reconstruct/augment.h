// Variations of images, made on the device as part of a step that may be captured: each is mirrored, shifted, given a
// window of its neighbour, or mixed with it, at random. What the float network makes of them is what the quantized one
// shall make of them, so that no label is needed.
#pragma once

#include <string>

#include "quench/executor.h"

namespace quench {

class Augment {
 public:
  // Of flip, crop, cut and mix, with commas, or none, or auto: the first three if all that the network reads is
  // pictures. Throws for another word. The numbers follow from the seed and the counter.
  Augment(const std::string& words, std::uint64_t seed);
  // Throws unless the network reads images, if there is something to vary.
  void check_inputs(const Graph& network) const;
  // Whether there is something among them that it may vary: auto leaves anything but pictures alone.
  bool applies_to(const NamedValues& inputs) const;
  // What is not a batch of float images stays as it is.
  NamedValues varied(NamedValues inputs, const at::Tensor& counter) const;

 private:
  at::Tensor varied(const at::Tensor& images, const at::Tensor& counter) const;
  at::Tensor random(const at::Tensor& like, const at::Tensor& counter, std::int64_t draw) const;

  bool auto_ = false, flip_ = false, crop_ = false, cut_ = false, mix_ = false;
  std::uint64_t seed_;
};

}  // namespace quench
