#include "data/image.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "quench/error.h"

namespace quench {
namespace {

bool begins_with(const std::vector<std::uint8_t>& bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

// Python's round((have - wanted) / 2): to the nearest, halves to even.
std::int64_t crop_begin(std::int64_t have, std::int64_t wanted) {
  return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(have - wanted) / 2.0));
}

}  // namespace

void check_image_size(std::int64_t height, std::int64_t width) {
  QUENCH_CHECK(height > 0 && width > 0, "the picture is ", width, "x", height, ", which is empty");
  QUENCH_CHECK(width <= kMostPixels && height <= kMostPixels / width, "the picture claims ", width, "x", height,
               " pixels; the limit is ", kMostPixels, " in all");
}

Image decode_image(const std::vector<std::uint8_t>& bytes) {
  if (begins_with(bytes, "\xFF\xD8\xFF")) return decode_jpeg(bytes);
  if (begins_with(bytes, "\x89PNG")) return decode_png(bytes);
  const char* found = begins_with(bytes, "GIF8")   ? "a GIF"
                      : begins_with(bytes, "BM")   ? "a BMP"
                      : begins_with(bytes, "RIFF") ? "a WebP"
                                                   : "not an image of a known format";
  fail("it is ", found, "; JPEG and PNG are read");
}

Image with_channels(const Image& image, std::int64_t channels) {
  if (image.channels == channels) return image;
  Image result(image.height, image.width, channels);
  const std::uint8_t* from = image.bytes.data();
  std::uint8_t* to = result.bytes.data();
  for (std::int64_t i = 0; i < image.height * image.width; ++i) {
    if (channels == 3) {
      std::fill_n(to + 3 * i, 3, from[i]);
    } else {
      const std::uint8_t* rgb = from + 3 * i;
      to[i] = static_cast<std::uint8_t>((rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 0x8000U) >> 16);
    }
  }
  return result;
}

std::int64_t crop_offset(std::int64_t have, std::int64_t wanted) {
  const std::int64_t padded = std::max(have, wanted);
  return crop_begin(padded, wanted) - (padded - have) / 2;
}

Image center_crop(const Image& image, std::int64_t height, std::int64_t width) {
  if (image.height == height && image.width == width) return image;
  // Where row 0 of the result lies in the picture; negative inside the border.
  const std::int64_t top = crop_offset(image.height, height);
  const std::int64_t left = crop_offset(image.width, width);
  const std::int64_t first = std::max<std::int64_t>(0, -left);
  const std::int64_t last = std::min(width, image.width - left);
  Image result(height, width, image.channels);
  for (std::int64_t row = 0; row < height; ++row) {
    if (row + top < 0 || row + top >= image.height) continue;
    const std::uint8_t* from = image.bytes.data() + ((row + top) * image.width + left + first) * image.channels;
    std::copy_n(from, (last - first) * image.channels, result.bytes.data() + (row * width + first) * image.channels);
  }
  return result;
}

}  // namespace quench
