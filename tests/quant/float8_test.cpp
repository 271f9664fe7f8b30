#include "quant/float8.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "quant/log8.h"

namespace quench {
namespace {

struct Case {
  const char* name;
  Float8 format;
  at::ScalarType type;
  float largest;
};
const Case kCases[] = {{"e4m3fn", kFloat8E4M3Fn, at::kFloat8_e4m3fn, 448.0F},
                       {"e5m2", kFloat8E5M2, at::kFloat8_e5m2, 57344.0F}};

// LibTorch's own conversions; they do not saturate.
float torch_decode(at::ScalarType type, int code) {
  return at::full({}, code, at::kByte).view(type).to(at::kFloat).item<float>();
}
int torch_encode(at::ScalarType type, float x) {
  return at::full({}, x, at::kFloat).to(type).view(at::kByte).item<int>();
}

TEST(Float8, DecodesAllCodesAsLibTorchAndEncodesThemBack) {
  for (const Case& c : kCases)
    for (int code = 0; code < 256; ++code) {
      const float value = decode(c.format, static_cast<std::uint8_t>(code)), expected = torch_decode(c.type, code);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(value)) << c.name << " " << code;
        EXPECT_EQ(encode(c.format, value) & 0x7F, 0x7F);  // one NaN per sign
        continue;
      }
      EXPECT_EQ(value, expected) << c.name << " " << code;
      EXPECT_EQ(std::signbit(value), code >= 128);
      if (std::isinf(value)) continue;  // saturates: below
      EXPECT_EQ(encode(c.format, value), code) << c.name << " " << code;
    }
}

TEST(Float8, LargestIsTheFormats) {
  for (const Case& c : kCases) EXPECT_EQ(decode(c.format, c.format.largest), c.largest);
}

// Ties to even and the floats on both sides of them, subnormals included.
TEST(Float8, RoundsBetweenAllNeighbours) {
  for (const Case& c : kCases)
    for (int code = 0; code < c.format.largest; ++code) {
      const float low = decode(c.format, static_cast<std::uint8_t>(code));
      const float high = decode(c.format, static_cast<std::uint8_t>(code + 1));
      const float middle = (low + high) / 2;  // exact: one bit more than a code has
      const int even = code % 2 == 0 ? code : code + 1;
      EXPECT_EQ(encode(c.format, middle), even) << c.name << " " << code;
      EXPECT_EQ(encode(c.format, -middle), even | 0x80);
      EXPECT_EQ(encode(c.format, std::nextafter(middle, 0.0F)), code);
      EXPECT_EQ(encode(c.format, std::nextafter(middle, INFINITY)), code + 1);
      EXPECT_EQ(torch_encode(c.type, middle), even);
    }
}

TEST(Float8, AgreesWithLibTorchBelowSaturation) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({100000}) * at::exp2(at::randint(-22, 17, {100000}).to(at::kFloat));
  for (const Case& c : kCases) {
    const at::Tensor expected = x.to(c.type).view(at::kByte);
    int compared = 0;
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const float value = x.const_data_ptr<float>()[i];
      if (std::fabs(value) > c.largest) continue;
      ++compared;
      ASSERT_EQ(encode(c.format, value), expected.const_data_ptr<std::uint8_t>()[i]) << c.name << " " << value;
    }
    EXPECT_GT(compared, 50000);
  }
}

TEST(Float8, SaturatesAsOnnxDefinesIt) {
  for (const Case& c : kCases) {
    for (const float x : {std::nextafter(c.largest, INFINITY), c.largest * 1.1F, c.largest * 1000.0F, INFINITY}) {
      EXPECT_EQ(encode(c.format, x), c.format.largest) << c.name << " " << x;
      EXPECT_EQ(encode(c.format, -x), c.format.largest | 0x80);
    }
    EXPECT_EQ(encode(c.format, NAN), 0x7F);
    EXPECT_EQ(encode(c.format, 1e-30F), 0);
    EXPECT_EQ(encode(c.format, -1e-45F), 0x80);
  }
}

TEST(Log8, AllCodesComeBack) {
  for (const double data_max : {1.0, 0.037, 113.0}) {
    const double offset = log8_offset(data_max);
    for (int code = 0; code < 256; ++code) {
      const double value = decode_log8(static_cast<std::uint8_t>(code), offset);
      EXPECT_EQ(encode_log8(value, offset), code) << data_max;
      EXPECT_EQ(value<0.0, code> kLog8Zero);
    }
  }
}

// docs/numerics.md 5.9 with data_max = 1: c = -127.
TEST(Log8, FollowsTheFormula) {
  const double offset = log8_offset(1.0);
  EXPECT_EQ(offset, -127.0);
  EXPECT_EQ(decode_log8(127, offset), 1.0);
  EXPECT_EQ(decode_log8(111, offset), 0.5);
  EXPECT_EQ(encode_log8(100.0, offset), 127);
  EXPECT_EQ(encode_log8(-INFINITY, offset), 255);
  // Half of the smallest magnitude is the threshold, and itself gives zero.
  const double positive = std::exp2(-143.0 / 16.0), negative = std::exp2(-142.0 / 16.0);
  EXPECT_EQ(encode_log8(positive, offset), kLog8Zero);
  EXPECT_EQ(encode_log8(std::nextafter(positive, 1.0), offset), 0);
  EXPECT_EQ(encode_log8(-negative, offset), kLog8Zero);
  EXPECT_EQ(encode_log8(-std::nextafter(negative, 1.0), offset), 129);
  EXPECT_EQ(encode_log8(0.0, offset), kLog8Zero);
}

}  // namespace
}  // namespace quench
