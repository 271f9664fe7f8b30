// A data set that a small network learns in seconds: images 12x12 with one bright quarter, which is the class, under
// noise.
#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "quench/data.h"

namespace quench {

class Quarters : public Dataset {
 public:
  Quarters(std::int64_t count, std::uint64_t seed) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    images_ = at::randn({count, 1, 12, 12}, generator);
    labels_ = at::randint(0, 4, {count}, generator, at::kLong);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t label = labels_[i].item<std::int64_t>();
      images_[i][0]
          .slice(0, 6 * (label / 2), 6 * (label / 2) + 6)
          .slice(1, 6 * (label % 2), 6 * (label % 2) + 6)
          .add_(1.5);
    }
  }
  std::int64_t size() const override { return images_.size(0); }
  Sample get(std::int64_t index) const override {
    return {images_[index], labels_[index].item<std::int64_t>(), std::to_string(index)};
  }
  Task task() const override { return Task::kClassify; }

 private:
  at::Tensor images_, labels_;
};

}  // namespace quench
