// Where pictures come to lie: each way of fitting, with the placement that boxes and masks follow.
#include "data/geometry.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace quench {
namespace {

Geometry geometry(std::map<std::string, std::string> options, const InputHint& hint = {}) {
  return Geometry({"images", "somewhere", std::move(options)}, hint);
}

Image grey(std::int64_t height, std::int64_t width, std::uint8_t value = 200) {
  Image image(height, width, 1);
  std::fill(image.bytes.begin(), image.bytes.end(), value);
  return image;
}

TEST(Geometry, APictureThatFitsStaysWhereItIs) {
  const auto [image, placement] = geometry({{"size", "20x10"}}).apply(grey(20, 10));
  EXPECT_EQ(placement, Placement());
  EXPECT_EQ(image.height, 20);
}

// 40x60 to a short side of 20 (half), then the middle 16x16: 2 rows and 7 columns are cut on the left.
TEST(Geometry, ACropBeginsLeftOfTheInput) {
  const auto [image, placement] = geometry({{"resize", "20"}, {"crop", "16"}}).apply(grey(40, 60));
  EXPECT_EQ(image.width, 16);
  EXPECT_EQ(placement, (Placement{0.5, 0.5, -7, -2}));
}

TEST(Geometry, StretchesEachSideByItself) {
  const auto [image, placement] = geometry({{"fit", "stretch"}, {"size", "20x30"}}).apply(grey(40, 40));
  EXPECT_EQ(image.height, 20);
  EXPECT_EQ(image.width, 30);
  EXPECT_EQ(placement, (Placement{0.75, 0.5, 0, 0}));
}

// 40x20 into 32x32: 32x16, with 8 columns of border on either side.
TEST(Geometry, LettersboxesInTheMiddleOfABorder) {
  const auto [image, placement] = geometry({{"fit", "letterbox"}, {"border", "7"}}, {1, 32, 32}).apply(grey(40, 20));
  EXPECT_EQ(placement, (Placement{0.8, 0.8, 8, 0}));
  for (const std::int64_t row : {0, 31})
    for (std::int64_t column = 0; column < 32; ++column)
      EXPECT_EQ(image.bytes[static_cast<std::size_t>(row * 32 + column)], column < 8 || column >= 24 ? 7 : 200);
}

TEST(Geometry, SaysWhatDoesNotGoTogether) {
  EXPECT_ERROR(geometry({{"fit", "squeeze"}}), "option fit=squeeze is not one of crop, stretch, letterbox");
  EXPECT_ERROR(geometry({{"fit", "stretch"}}), "fit=stretch needs a size: give size=N");
  EXPECT_ERROR(geometry({{"fit", "stretch"}, {"crop", "8"}}),
               "fit=stretch leaves nothing to resize= and crop=: omit them");
  EXPECT_ERROR(geometry({{"border", "8"}}), "border= is for fit=letterbox");
  EXPECT_ERROR(geometry({{"fit", "letterbox"}, {"size", "8"}, {"border", "256"}}),
               "option border=256 is not a grey from 0 to 255");
}

}  // namespace
}  // namespace quench
