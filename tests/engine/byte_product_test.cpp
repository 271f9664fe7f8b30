// The loop of products against sums in plain C++, for all numbers of channels and results that make another tile.
#include "engine/simd/byte_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace quench {
namespace {

struct Case {
  std::int64_t channels, results, depth;
  bool x_signed, y_signed, zero_first;
  std::int32_t zero_point, low, high;
};

// As the rules mlas and affine say (quant/requantize.h), here on bytes.
std::uint8_t plain_code(const Case& c, std::int32_t sum, float multiplier) {
  float steps = static_cast<float>(sum) * multiplier;
  if (c.zero_first) steps += static_cast<float>(c.zero_point);
  const auto code = static_cast<std::int64_t>(std::nearbyintf(steps)) + (c.zero_first ? 0 : c.zero_point);
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(code, c.low, c.high));
}

struct Operands {
  std::vector<std::uint8_t> x;
  std::vector<std::int8_t> w;
  std::vector<std::int32_t> bias;
  std::vector<float> multiplier;

  explicit Operands(const Case& c) {
    std::mt19937 random(static_cast<unsigned>(c.channels * 1000 + c.results));
    const auto upto = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    // Three bytes behind the last one are read and must not count.
    for (std::int64_t i = 0; i < c.results * c.depth + 3; ++i) x.push_back(static_cast<std::uint8_t>(upto(0, 255)));
    for (std::int64_t i = 0; i < c.channels * c.depth; ++i) w.push_back(static_cast<std::int8_t>(upto(-128, 127)));
    const float each = 60.0F / (100.0F * 74.0F * std::sqrt(static_cast<float>(c.depth)));
    for (std::int64_t i = 0; i < c.channels; ++i) {
      bias.push_back(upto(-5000, 5000));
      multiplier.push_back(each * (1.0F + 0.01F * static_cast<float>(upto(0, 99))));
    }
  }
};

template <typename T>
std::vector<T> by_lane(const std::vector<T>& values) {
  const auto channels = static_cast<std::int64_t>(values.size());
  std::vector<T> lanes(static_cast<std::size_t>(product_lanes(channels)));
  for (std::int64_t i = 0; i < channels; ++i)
    lanes[static_cast<std::size_t>(product_lane(channels, i))] = values[static_cast<std::size_t>(i)];
  return lanes;
}

std::vector<std::uint8_t> plain(const Case& c, const Operands& o) {
  std::vector<std::uint8_t> codes;
  for (std::int64_t i = 0; i < c.results * c.channels; ++i) {
    const std::int64_t pixel = i / c.channels, channel = i % c.channels;
    std::int32_t sum = o.bias[static_cast<std::size_t>(channel)];
    for (std::int64_t k = 0; k < c.depth; ++k) {
      const std::uint8_t byte = o.x[static_cast<std::size_t>(pixel * c.depth + k)];
      const int x = c.x_signed ? static_cast<std::int8_t>(byte) : byte;
      sum += x * o.w[static_cast<std::size_t>(channel * c.depth + k)];
    }
    codes.push_back(plain_code(c, sum, o.multiplier[static_cast<std::size_t>(channel)]));
  }
  return codes;
}

std::vector<std::uint8_t> by_loop(const Case& c, const Operands& o) {
  std::vector<std::int8_t> packed(static_cast<std::size_t>(packed_product_bytes(c.channels, 1, c.depth)));
  pack_product(o.w.data(), c.channels, 1, c.depth, packed.data());
  std::vector<std::int32_t> shifted = o.bias;
  for (std::size_t i = 0; c.x_signed && i < o.w.size(); ++i)
    shifted[i / static_cast<std::size_t>(c.depth)] -= 128 * o.w[i];
  const std::vector<std::int32_t> bias = by_lane(shifted);
  const std::vector<float> multiplier = by_lane(o.multiplier);
  const ByteProductLoop loop{
      {o.x.data(), 1, 1, 0, 0, c.depth, 1, 0, c.depth},
      c.channels,
      c.x_signed,
      packed.data(),
      {bias.data(), multiplier.data(), c.zero_point, c.low, c.high, c.zero_first, c.y_signed, true}};
  constexpr std::uint8_t kUntouched = 77;
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(c.results * c.channels) + 64, kUntouched);
  // In parts, as threads would: of results, or of channels.
  const std::int64_t blocks = product_blocks(c.channels), middle = c.results / 2;
  if (middle > 0) multiply_bytes(loop, {0, middle, 0, blocks}, codes.data());
  multiply_bytes(loop, {middle, c.results, 0, blocks / 2}, codes.data());
  multiply_bytes(loop, {middle, c.results, blocks / 2, blocks}, codes.data());
  EXPECT_TRUE(std::all_of(codes.end() - 64, codes.end(), [](std::uint8_t code) { return code == kUntouched; }));
  codes.resize(codes.size() - 64);
  return codes;
}

TEST(ByteProduct, GivesThePlainCodesForEveryTile) {
  if (!has_byte_loops()) GTEST_SKIP() << "this processor has no AVX-512 VNNI";
  for (const std::int64_t channels : {1, 7, 16, 17, 24, 31, 32, 33, 48, 50, 64, 65, 80, 96, 100, 144, 200})
    for (const std::int64_t results : {1, 2, 3, 5, 7, 11, 12, 13, 25, 61})
      for (const std::int64_t depth : {1, 3, 4, 18, 300}) {
        const std::vector<Case> cases = {{channels, results, depth, false, false, false, 0, 0, 255},
                                         {channels, results, depth, false, false, false, 9, 9, 200},
                                         {channels, results, depth, false, true, true, -7, -100, 127},
                                         {channels, results, depth, true, true, false, 3, -128, 127}};
        for (const Case& one : cases) {
          const Operands operands(one);
          ASSERT_EQ(by_loop(one, operands), plain(one, operands))
              << channels << " channels, " << results << " results, " << depth << " deep";
        }
      }
}

TEST(ByteProduct, LanesAreAPermutation) {
  for (std::int64_t channels = 1; channels < 300; ++channels) {
    std::vector<int> seen(static_cast<std::size_t>(product_lanes(channels)));
    for (std::int64_t c = 0; c < channels; ++c) ++seen[static_cast<std::size_t>(product_lane(channels, c))];
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), channels);
  }
}

}  // namespace
}  // namespace quench
