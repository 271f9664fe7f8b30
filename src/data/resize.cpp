// resize_bilinear: a triangle filter as wide as the step between output pixels, rows first, then columns,
// in fixed point of 22 bits with 8-bit results in between: the arithmetic of Pillow's BILINEAR, which is what
// torchvision does to pictures. (To version 11; 13 swaps the two steps where that is quicker, which moves
// some bytes by one.)
#include <algorithm>
#include <array>
#include <cmath>

#include "data/image.h"

namespace quench {
namespace {

constexpr int kFractionBits = 22;

// Output pixel i is the sum of weights[i * width ...] over the inputs first[i] ... first[i] + count[i] - 1.
struct Filter {
  std::int64_t width = 0;
  std::vector<std::int64_t> first, count;
  std::vector<std::int32_t> weights;
};

std::int32_t fixed_point(double weight) {
  return static_cast<std::int32_t>(0.5 + weight * (1 << kFractionBits));  // weights of a triangle are never negative
}

Filter triangle_filter(std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double support = std::max(scale, 1.0);  // half of the triangle's base; at least one input pixel
  Filter filter;
  filter.width = static_cast<std::int64_t>(std::ceil(support)) * 2 + 1;
  filter.weights.resize(static_cast<std::size_t>(filter.width * to));
  std::vector<double> weights(static_cast<std::size_t>(filter.width));
  for (std::int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto first = static_cast<std::int64_t>(std::max(center - support + 0.5, 0.0));
    const auto last = std::min(static_cast<std::int64_t>(center + support + 0.5), from);
    const auto count = static_cast<std::size_t>(last - first);
    double sum = 0.0;
    for (std::size_t k = 0; k < count; ++k) {
      const double distance = (static_cast<double>(first) + static_cast<double>(k) - center + 0.5) * (1.0 / support);
      weights[k] = std::max(1.0 - std::abs(distance), 0.0);
      sum += weights[k];
    }
    std::int32_t* row = filter.weights.data() + i * filter.width;
    for (std::size_t k = 0; k < count; ++k) row[k] = fixed_point(weights[k] / sum);
    filter.first.push_back(first);
    filter.count.push_back(last - first);
  }
  return filter;
}

std::uint8_t rounded(std::int32_t sum) { return static_cast<std::uint8_t>(std::clamp(sum >> kFractionBits, 0, 255)); }
constexpr std::int32_t kHalf = 1 << (kFractionBits - 1);

// The number of channels is known to the compiler: three sums stay in registers.
template <int kChannels>
Image resize_rows(const Image& image, std::int64_t width) {
  const Filter filter = triangle_filter(image.width, width);
  Image result(image.height, width, kChannels);
  std::uint8_t* to = result.bytes.data();
  for (std::int64_t row = 0; row < image.height; ++row) {
    const std::uint8_t* line = image.bytes.data() + row * image.width * kChannels;
    for (std::int64_t i = 0; i < width; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::int32_t* weights = filter.weights.data() + i * filter.width;
      const std::uint8_t* from = line + filter.first[at] * kChannels;
      std::array<std::int32_t, kChannels> sums;
      sums.fill(kHalf);
      for (std::int64_t k = 0; k < filter.count[at]; ++k) {
        for (std::size_t c = 0; c < kChannels; ++c) sums[c] += *from++ * weights[k];
      }
      for (const std::int32_t sum : sums) *to++ = rounded(sum);
    }
  }
  return result;
}

Image resize_columns(const Image& image, std::int64_t height) {
  const Filter filter = triangle_filter(image.height, height);
  const std::int64_t stride = image.width * image.channels;
  Image result(height, image.width, image.channels);
  std::vector<std::int32_t> sums(static_cast<std::size_t>(stride));
  for (std::int64_t i = 0; i < height; ++i) {
    const auto at = static_cast<std::size_t>(i);
    std::fill(sums.begin(), sums.end(), kHalf);
    for (std::int64_t k = 0; k < filter.count[at]; ++k) {
      const std::int32_t weight = filter.weights[static_cast<std::size_t>(i * filter.width + k)];
      const std::uint8_t* from = image.bytes.data() + (filter.first[at] + k) * stride;
      for (std::int64_t x = 0; x < stride; ++x) sums[static_cast<std::size_t>(x)] += from[x] * weight;
    }
    std::transform(sums.begin(), sums.end(), result.bytes.begin() + i * stride, rounded);
  }
  return result;
}

}  // namespace

Image resize_bilinear(const Image& image, std::int64_t height, std::int64_t width) {
  check_image_size(height, width);
  check_image_size(image.height, width);  // the picture between the two steps
  if (image.width == width) return image.height == height ? image : resize_columns(image, height);
  const Image narrow = image.channels == 1 ? resize_rows<1>(image, width) : resize_rows<3>(image, width);
  return narrow.height == height ? narrow : resize_columns(narrow, height);
}

}  // namespace quench
