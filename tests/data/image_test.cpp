// Decoding, resizing and cropping, against what Pillow and torchvision give: tests/data/images/make.py.
#include "data/image.h"

#include <ATen/ATen.h>

#include "data/files.h"
#include "data/read_file.h"
#include "quench/npz.h"
#include "support/expect_error.h"

namespace quench {
namespace {

const std::map<std::string, RtValue>& expected() {
  static const auto arrays = read_npz(test_data("images/expected.npz"));
  return arrays;
}

std::vector<std::uint8_t> bytes_of(const std::string& name) { return read_file(test_data("images/" + name), 1 << 20); }

Image picture() { return decode_image(bytes_of("rgb.png")); }

// How many bytes differ from the expected picture `name`; -1 for another shape.
int differences(const Image& image, const std::string& name) {
  const at::Tensor& wanted = expected().at(name).tensor();
  const std::int64_t channels = wanted.dim() == 3 ? wanted.size(2) : 1;
  if (wanted.size(0) != image.height || wanted.size(1) != image.width || channels != image.channels) return -1;
  int count = 0;
  const auto* data = wanted.const_data_ptr<std::uint8_t>();
  for (std::size_t i = 0; i < image.bytes.size(); ++i) count += image.bytes[i] != data[i] ? 1 : 0;
  return count;
}

TEST(DecodeImage, EqualsPillowOnEveryFormOfJpegAndPng) {
  int checked = 0;
  for (const auto& [name, value] : expected()) {
    if (!name.ends_with(".jpg") && !name.ends_with(".png")) continue;
    EXPECT_EQ(differences(with_channels(decode_image(bytes_of(name)), 3), name), 0) << name;
    ++checked;
  }
  EXPECT_EQ(checked, 16);
}

TEST(DecodeImage, KeepsGreyPicturesGrey) {
  for (const char* name : {"grey.jpg", "grey.png", "grey16.png", "grey_alpha.png", "bits.png"}) {
    EXPECT_EQ(decode_image(bytes_of(name)).channels, 1) << name;
  }
}

TEST(DecodeImage, RefusesTruncatedFilesAtEveryLength) {
  for (const char* name : {"rgb.jpg", "progressive.jpg", "grey.jpg", "rgb.png", "palette.png", "interlaced.png"}) {
    const auto whole = bytes_of(name);
    const bool jpeg = std::string_view(name).ends_with(".jpg");
    const char* broken = jpeg ? "broken JPEG: " : "broken PNG: the file ends early";
    for (std::size_t size = 0; size < whole.size(); size += 1 + size / 16) {
      const std::vector<std::uint8_t> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_ERROR(decode_image(part), size < (jpeg ? 3 : 4) ? "not an image of a known format" : broken)
          << name << " cut to " << size;
    }
    const std::vector<std::uint8_t> part(whole.begin(), whole.end() - 1);
    EXPECT_ERROR(decode_image(part), broken) << name << " without its last byte";
  }
}

TEST(DecodeImage, SurvivesFlippedBytes) {
  for (const char* name : {"rgb.jpg", "progressive.jpg", "cmyk.jpg", "rgb.png", "palette.png"}) {
    const auto whole = bytes_of(name);
    for (std::size_t at = 0; at < whole.size(); at += 7) {
      auto damaged = whole;
      damaged[at] = static_cast<std::uint8_t>(~damaged[at]);
      try {
        const Image image = decode_image(damaged);
        EXPECT_EQ(image.bytes.size(), static_cast<std::size_t>(image.height * image.width * image.channels));
      } catch (const Error& error) {
        EXPECT_FALSE(std::string(error.what()).empty());
      }
    }
  }
}

std::string decoding(const std::vector<std::uint8_t>& bytes) {
  return message_of([&] { decode_image(bytes); });
}

TEST(DecodeImage, SaysWhatIsWrong) {
  EXPECT_CONTAINS(decoding({'G', 'I', 'F', '8'}), "it is a GIF; JPEG and PNG are read");
  EXPECT_CONTAINS(decoding({'h', 'i'}), "it is not an image of a known format");
  auto jpeg = bytes_of("rgb.jpg");
  jpeg.resize(jpeg.size() / 2);
  EXPECT_CONTAINS(decoding(jpeg), "broken JPEG: ");
  auto png = bytes_of("rgb.png");
  png.resize(png.size() / 2);
  EXPECT_CONTAINS(decoding(png), "broken PNG: the file ends early");
  png = bytes_of("rgb.png");
  png[png.size() / 2] ^= 1;
  EXPECT_CONTAINS(decoding(png), "broken PNG: ");
}

TEST(DecodeImage, RefusesAbsurdSizes) {
  auto jpeg = bytes_of("rgb.jpg");
  for (std::size_t i = 0; i + 8 < jpeg.size(); ++i) {
    if (jpeg[i] == 0xFF && jpeg[i + 1] == 0xC0) std::fill_n(jpeg.begin() + static_cast<std::ptrdiff_t>(i) + 5, 4, 0xFE);
  }
  EXPECT_CONTAINS(decoding(jpeg), "the picture claims 65278x65278 pixels; the limit is 67108864 in all");
  auto png = bytes_of("rgb.png");
  png[16] = png[20] = 0x00;
  png[17] = png[21] = 0x0F;  // the checksum of the header is wrong now, so libpng objects first
  EXPECT_CONTAINS(decoding(png), "broken PNG");
  EXPECT_CONTAINS(message_of([] { check_image_size(1000000, 1000000); }), "claims 1000000x1000000");
  EXPECT_CONTAINS(message_of([] { check_image_size(0, 5); }), "which is empty");
}

TEST(WithChannels, EqualsPillowsConvert) {
  EXPECT_EQ(differences(with_channels(picture(), 1), "luma"), 0);
  EXPECT_EQ(with_channels(picture(), 3).bytes, picture().bytes);
}

TEST(ResizeBilinear, EqualsPillowBitForBit) {
  int checked = 0;
  for (const auto& [name, value] : expected()) {
    if (!name.starts_with("resize_")) continue;
    const at::Tensor& wanted = value.tensor();
    const Image from = wanted.dim() == 2 ? with_channels(picture(), 1) : picture();
    EXPECT_EQ(differences(resize_bilinear(from, wanted.size(0), wanted.size(1)), name), 0) << name;
    ++checked;
  }
  EXPECT_EQ(checked, 8);
  EXPECT_EQ(resize_bilinear(picture(), 37, 53).bytes, picture().bytes);
  EXPECT_CONTAINS(message_of([] { resize_bilinear(picture(), 100000, 100000); }), "the limit is");
}

TEST(CenterCrop, EqualsTorchvision) {
  for (const std::int64_t size : {20, 21, 37, 40, 45, 60}) {
    EXPECT_EQ(differences(center_crop(picture(), size, size), "crop_" + std::to_string(size)), 0) << size;
  }
  EXPECT_EQ(center_crop(picture(), 37, 53).bytes, picture().bytes);
}

// A mask's numbers: the places in the palette, and 1 for a bit, where a picture has colours and 255.
TEST(DecodePngIds, KeepsTheNumbersOfTheFile) {
  const Image ids = decode_png_ids(bytes_of("palette.png")), colours = decode_png(bytes_of("palette.png"));
  ASSERT_EQ(ids.channels, 1);
  ASSERT_EQ(colours.channels, 3);
  std::map<std::uint8_t, std::vector<std::uint8_t>> colour_of;
  for (std::size_t i = 0; i < ids.bytes.size(); ++i) {
    const std::vector<std::uint8_t> colour(colours.bytes.begin() + static_cast<std::ptrdiff_t>(3 * i),
                                           colours.bytes.begin() + static_cast<std::ptrdiff_t>(3 * i + 3));
    EXPECT_EQ(colour_of.emplace(ids.bytes[i], colour).first->second, colour) << i;
  }
  EXPECT_GT(colour_of.size(), 10U);
  const Image bits = decode_png_ids(bytes_of("bits.png")), widened = decode_png(bytes_of("bits.png"));
  for (std::size_t i = 0; i < bits.bytes.size(); ++i) EXPECT_EQ(bits.bytes[i] * 255, widened.bytes[i]);
  EXPECT_EQ(decode_png_ids(bytes_of("grey.png")).bytes, decode_png(bytes_of("grey.png")).bytes);
  for (const char* name : {"rgb.png", "grey16.png", "grey_alpha.png"})
    EXPECT_ERROR(decode_png_ids(bytes_of(name)), "a mask must have one number of 8 bits or fewer per pixel");
}

}  // namespace
}  // namespace quench
