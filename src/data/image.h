// Decoded pictures: 8 bits per channel, interleaved, top row first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quench {

struct Image {
  std::int64_t height = 0, width = 0, channels = 0;  // 1 (grey) or 3 (RGB)
  std::vector<std::uint8_t> bytes;

  Image() = default;
  Image(std::int64_t rows, std::int64_t columns, std::int64_t planes)
      : height(rows), width(columns), channels(planes), bytes(static_cast<std::size_t>(rows * columns * planes)) {}
};

// Larger pictures are refused: a file of a few bytes can claim any size.
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;
void check_image_size(std::int64_t height, std::int64_t width);

// JPEG or PNG, told by the bytes. Throws for a truncated or broken one. EXIF orientation is not applied.
Image decode_image(const std::vector<std::uint8_t>& bytes);
Image decode_jpeg(const std::vector<std::uint8_t>& bytes);
Image decode_png(const std::vector<std::uint8_t>& bytes);
// One number per pixel, as the file has it: palettes are not looked up, few bits not widened. Throws for colours and 16
// bits.
Image decode_png_ids(const std::vector<std::uint8_t>& bytes);

// Grey to RGB, or RGB to grey with ITU-R 601 weights in fixed point, as Pillow's convert() does.
Image with_channels(const Image& image, std::int64_t channels);

// Bilinear with antialiasing, as Pillow's resize(BILINEAR): bit for bit.
Image resize_bilinear(const Image& image, std::int64_t height, std::int64_t width);

// Where the wanted part begins along one side of a picture; negative where a border comes first.
std::int64_t crop_offset(std::int64_t have, std::int64_t wanted);
// As torchvision's CenterCrop: a smaller picture gets a black border.
Image center_crop(const Image& image, std::int64_t height, std::int64_t width);

}  // namespace quench
