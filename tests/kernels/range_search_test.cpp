#include <gtest/gtest.h>

#include <cmath>

#include "kernels/layouts.h"
#include "kernels/statistics/statistics.h"
#include "quench/error.h"
#include "support/expect_error.h"

namespace quench {
namespace {

// The fast loops add up 32 terms of one sign in float32, and square in float32: (32 + 1) 2^-24.
constexpr double kSumError = 2e-6;
// Their power is good to 2^-22 (1 + |p log2 d|), with 1e-5 < d < 10 here.
constexpr double kPowerError = 1.5e-5;

SearchArgs args_for(const at::Tensor& rows, const QScheme& scheme, int candidates, double power = 2.0) {
  SearchArgs args{scheme, {}, {}, power, candidates};
  for (std::int64_t c = 0; c < rows.size(0); ++c) {
    args.min.push_back(rows[c].min().item<float>());
    args.max.push_back(rows[c].max().item<float>());
  }
  return args;
}

// Mean error of one row under a range, by ATen's own quantizer.
double error_by_aten(const at::Tensor& row, const QScheme& scheme, float min, float max, double power) {
  const QParams params = qparams_of_range(scheme, {min}, {max});
  const at::Tensor y = at::fake_quantize_per_tensor_affine(row.contiguous(), params.scale[0], params.zero_point[0],
                                                           scheme.qmin(), scheme.qmax());
  return (y.to(at::kDouble) - row.to(at::kDouble)).abs().pow(power).mean().item<double>();
}

struct Best {
  float min = 0, max = 0;
  double error = INFINITY;
};

Best best_by_aten(const at::Tensor& row, const QScheme& scheme, int candidates, double power) {
  const auto min = row.min().item<float>(), max = row.max().item<float>();
  Best best;
  for (int k = 0; k < candidates; ++k) {
    const auto factor = static_cast<float>(1.0 - 0.01 * k);
    const double error = error_by_aten(row, scheme, min * factor, max * factor, power);
    if (error < best.error) best = {min * factor, max * factor, error};
  }
  return best;
}

class SearchRange : public testing::TestWithParam<const char*> {};

TEST_P(SearchRange, FindsATensBestCandidateInEveryLayout) {
  at::manual_seed(3);
  for (const LayoutCase& one : layout_cases(GetParam())) {
    if (one.x.numel() > 20000) continue;
    const at::Tensor rows = rows_by_aten(one.x, one.scheme);
    const SearchArgs args = args_for(rows, one.scheme, 30);
    for (const auto function : {search_range, search_range_ref}) {
      const RangeSearch found = function(one.x, args);
      ASSERT_EQ(found.min.size(), args.min.size()) << one.name;
      for (std::size_t c = 0; c < args.min.size(); c += 1 + c / 8) {  // fewer of the many channels
        const at::Tensor row = rows[static_cast<std::int64_t>(c)];
        const Best best = best_by_aten(row, one.scheme.per_tensor() ? one.scheme : QScheme::parse(GetParam()), 30, 2.0);
        EXPECT_EQ(found.min[c], best.min) << one.name << " " << c;
        EXPECT_EQ(found.max[c], best.max) << one.name << " " << c;
        EXPECT_NEAR(found.error[c], best.error, best.error * kSumError) << one.name;
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Formats, SearchRange, testing::Values("int8 symmetric", "uint4 affine", "int3 symmetric"));

TEST(SearchRangeOf, TakesOtherPowersAndLongTensors) {
  at::manual_seed(5);
  const at::Tensor x = at::randn({30011}) * at::rand({30011});
  for (const double power : {1.0, 2.0, 2.4, 3.5})
    for (const auto function : {search_range, search_range_ref}) {
      const QScheme scheme = QScheme::parse("int4 symmetric tensor");
      const RangeSearch found = function(x, args_for(x.reshape({1, -1}), scheme, 95, power));
      const Best best = best_by_aten(x, scheme, 95, power);
      EXPECT_EQ(found.max[0], best.max) << power;
      EXPECT_NEAR(found.error[0], best.error, best.error * (power == 2.0 || power == 1.0 ? kSumError : kPowerError))
          << power;
    }
}

// D16: the scale that is used is the one that is judged.
TEST(SearchRangeOf, JudgesThePowerOfTwoThatIsUsed) {
  at::manual_seed(6);
  const at::Tensor x = at::randn({4000});
  const QScheme scheme = QScheme::parse("int4 symmetric tensor pot");
  for (const auto function : {search_range, search_range_ref}) {
    const RangeSearch found = function(x, args_for(x.reshape({1, -1}), scheme, 95));
    const Best best = best_by_aten(x, scheme, 95, 2.0);
    EXPECT_EQ(found.max[0], best.max);
    const double used = error_by_aten(x, scheme, found.min[0], found.max[0], 2.0);
    EXPECT_NEAR(found.error[0], used, used * kSumError);
  }
}

TEST(SearchRangeOf, TheFirstOfEqualCandidatesWins) {
  for (const auto function : {search_range, search_range_ref}) {
    const RangeSearch found = function(at::zeros({50}), {QScheme(), {0.0F}, {0.0F}, 2.0, 95});
    EXPECT_EQ(found.max[0], 0.0F);
    EXPECT_EQ(found.error[0], 0.0);
    // One value that every power-of-two step near it holds exactly: the whole range is the first.
    const QScheme pot = QScheme::parse("int8 symmetric tensor pot");
    EXPECT_EQ(function(at::full({50}, 1.0F), {pot, {1.0F}, {1.0F}, 2.0, 95}).max[0], 1.0F);
  }
}

// Beyond what float32 can square (1.8e19) or raise to a power the fast search goes on in float64.
TEST(SearchRangeOf, ErrorsMayLeaveFloat) {
  at::manual_seed(8);
  const QScheme scheme = QScheme::parse("int4 symmetric tensor");
  for (const std::int64_t length : {500, 70000})  // without and with a guess
    for (const auto& [size, power] : {std::pair{1e25F, 2.0}, std::pair{1.0F, 60.0}, std::pair{1e-3F, 30.0}}) {
      const at::Tensor x = at::randn({length}) * at::rand({length}) * size;
      const SearchArgs args = args_for(x.reshape({1, -1}), scheme, 60, power);
      const RangeSearch fast = search_range(x, args), plain = search_range_ref(x, args);
      EXPECT_EQ(fast.max, plain.max) << size << " " << power;
      EXPECT_EQ(fast.min, plain.min);
      // An infinite sum would leave the first one; high powers may want it.
      EXPECT_TRUE(power > 2.0 || plain.max[0] < args.max[0]);
      EXPECT_NEAR(fast.error[0], plain.error[0], plain.error[0] * 1e-11);  // the order of 70000 float64 sums
    }
}

// One bit near FLT_MAX: the first candidates have no finite scale, and with a power of two none has.
TEST(SearchRangeOf, ACandidateWithoutAFiniteScaleNeverWins) {
  at::manual_seed(9);
  const at::Tensor x = (at::rand({70000}) * 2 - 1) * 3.4e38F;
  const QScheme scheme = QScheme::parse("int1 symmetric tensor");
  const SearchArgs args = args_for(x.reshape({1, -1}), scheme, 95);
  const RangeSearch fast = search_range(x, args), plain = search_range_ref(x, args);
  EXPECT_EQ(fast.max, plain.max);
  EXPECT_TRUE(std::isfinite(qparams_of_range(scheme, fast.min, fast.max).scale[0]));
  const SearchArgs one = args_for(x.reshape({1, -1}), scheme, 1);
  for (const auto function : {search_range, search_range_ref}) {
    const RangeSearch none = function(x, one);
    EXPECT_EQ(none.max, one.max);  // what was observed, for which the scale rule has an error
    EXPECT_ERROR(qparams_of_range(scheme, none.min, none.max), "the range is", "scale does not fit float32");
  }
}

TEST(SearchRangeOf, Fp8IsSearchedToo) {
  at::manual_seed(7);
  const at::Tensor x = at::randn({3000});
  const QScheme scheme = QScheme::parse("e4m3fn tensor");
  for (const auto function : {search_range, search_range_ref}) {
    const RangeSearch found = function(x, args_for(x.reshape({1, -1}), scheme, 20));
    const float scale = qparams_of_range(scheme, {found.min[0]}, {found.max[0]}).scale[0];
    const at::Tensor y = (x * (1.0F / scale)).clamp(-448, 448).to(at::kFloat8_e4m3fn).to(at::kFloat) * scale;
    const double error = (y - x).to(at::kDouble).pow(2).mean().item<double>();
    EXPECT_NEAR(found.error[0], error, error * 1e-6);  // one float32 product more or less per element
  }
}

TEST(SearchRangeOf, RefusesWhatMakesNoSense) {
  const at::Tensor x = at::randn({8});
  EXPECT_ERROR(search_range(x, {QScheme(), {0.0F, 1.0F}, {0.0F, 1.0F}, 2.0, 95}), "1 entries", "2 minima");
  EXPECT_ERROR(search_range(x, {QScheme(), {0.0F}, {1.0F}, 0.0, 95}), "power of the error", "not 0");
  EXPECT_ERROR(search_range(x, {QScheme(), {0.0F}, {1.0F}, 2.0, 0}), "1 to 100 candidates", "not 0");
  EXPECT_ERROR(search_range(x, {QScheme::parse("log8"), {0.0F}, {1.0F}, 2.0, 95}), "'log8 tensor'",
               "cannot be searched");
}

// The integral of the error over a bin, by brute force: 400 points in each.
double sampled_error(const at::Tensor& counts, float low, float high, const QScheme& scheme, float min, float max,
                     double power) {
  constexpr int kPoints = 400;
  const QParams params = qparams_of_range(scheme, {min}, {max});
  const double width = (static_cast<double>(high) - low) / static_cast<double>(counts.numel());
  double sum = 0;
  for (std::int64_t i = 0; i < counts.numel(); ++i)
    for (int j = 0; j < kPoints; ++j) {
      const double x = low + width * (static_cast<double>(i) + (j + 0.5) / kPoints);
      const double code = std::nearbyint(x / params.scale[0]) + params.zero_point[0];
      const double y =
          (std::min(std::max(code, 1.0 * scheme.qmin()), 1.0 * scheme.qmax()) - params.zero_point[0]) * params.scale[0];
      sum += counts.const_data_ptr<double>()[i] / kPoints * std::pow(std::abs(y - x), power);
    }
  return sum / counts.sum().item<double>();
}

TEST(SearchHistogram, IntegratesTheErrorOfItsWinner) {
  at::manual_seed(8);
  const std::vector<float> low{-2.0F}, high{5.0F};
  for (const char* text : {"int8 symmetric tensor", "uint4 affine tensor", "int2 symmetric tensor"})
    for (const double power : {2.0, 2.4, 1.0}) {
      const QScheme scheme = QScheme::parse(text);
      const at::Tensor counts = at::rand({1, 64}, at::kDouble).pow(3);
      for (const auto function : {search_histogram, search_histogram_ref}) {
        const RangeSearch found = function({counts, low, high}, {scheme, low, high, power, 95});
        const double sampled = sampled_error(counts[0], low[0], high[0], scheme, found.min[0], found.max[0], power);
        // Midpoints of 1/400 bin: second order in the bin's part, and first order in the few that a kink cuts.
        EXPECT_NEAR(found.error[0], sampled, sampled * 2e-3) << text << " " << power;
      }
    }
}

TEST(SearchHistogram, FindsTheTensorsBestRange) {
  at::manual_seed(9);
  const at::Tensor x = at::randn({200000});
  const QScheme scheme = QScheme::parse("int4 symmetric tensor");
  const SearchArgs args = args_for(x.reshape({1, -1}), scheme, 95);
  const at::Tensor counts = histogram(x, {scheme, at::tensor(args.min), at::tensor(args.max), 2048, false});
  const RangeSearch exact = search_range(x, args);
  const RangeSearch found = search_histogram({counts, args.min, args.max}, args);
  EXPECT_NEAR(found.max[0], exact.max[0], std::abs(args.max[0]) * 0.0101);  // the neighbour at most
  EXPECT_NEAR(found.error[0], exact.error[0], exact.error[0] * 1e-2);
}

TEST(SearchHistogram, SearchesTheEndsApartWhereAffine) {
  // Dense on [-1, 1] with a thin tail up to 10: cutting the tail must not cut the lower end too.
  at::manual_seed(10);
  const at::Tensor x = at::cat({at::rand({100000}) * 2 - 1, at::rand({20}) * 9 + 1});
  const QScheme scheme = QScheme::parse("uint4 affine tensor");
  const SearchArgs args = args_for(x.reshape({1, -1}), scheme, 95);
  const at::Tensor counts = histogram(x, {scheme, at::tensor(args.min), at::tensor(args.max), 2048, false});
  for (const auto function : {search_histogram, search_histogram_ref}) {
    const RangeSearch found = function({counts, args.min, args.max}, args);
    EXPECT_LT(found.min[0], -0.9F);
    EXPECT_LT(found.max[0], 2.0F);
    EXPECT_LT(error_by_aten(x, scheme, found.min[0], found.max[0], 2.0), search_range(x, args).error[0]);
  }
}

TEST(SearchHistogram, OneEntryEach) {
  at::manual_seed(11);
  const at::Tensor counts = at::rand({5, 128}, at::kDouble);
  const std::vector<float> low{-1, -2, 0, -3, 0}, high{1, 1, 4, 0, 0};
  const QScheme scheme = QScheme::parse("int4 symmetric channel:0");
  for (const auto function : {search_histogram, search_histogram_ref}) {
    const RangeSearch all = function({counts, low, high}, {scheme, low, high, 2.0, 80});
    for (std::size_t c = 0; c < low.size(); ++c) {
      const std::vector<float> one_low{low[c]}, one_high{high[c]};
      const at::Tensor row = counts.slice(0, static_cast<std::int64_t>(c), static_cast<std::int64_t>(c) + 1);
      const RangeSearch one = function({row, one_low, one_high}, {scheme, one_low, one_high, 2.0, 80});
      EXPECT_EQ(all.min[c], one.min[0]);
      EXPECT_EQ(all.max[c], one.max[0]);
      EXPECT_EQ(all.error[c], one.error[0]);
    }
  }
}

TEST(StepErrors, FollowTheTieRules) {
  const at::Tensor x = at::tensor({-1.5F, -0.5F, 0.5F, 1.5F, 2.5F, 300.0F});
  for (const auto function : {step_errors, step_errors_ref}) {
    // Step 1, ties: every rule is off by 1/2 at each, and 300 clips to 127.
    const std::vector<double> found = function(x, {-128, 127, Rounding::kHalfEven, false, 0, 2});
    EXPECT_EQ(found[0], 5 * 0.25 + 173.0 * 173.0);
    EXPECT_EQ(found[1], 236.5 * 236.5);  // step 1/2: all exact but for the last, clipped at 63.5
    // 127.5 rounds to 128, and is clamped to 127 before or after; -128.5 goes up to -128 or down, then clamped.
    EXPECT_EQ(function(at::tensor({127.5F}), {-128, 127, Rounding::kHalfUp, true, 0, 1})[0], 0.25);
    EXPECT_EQ(function(at::tensor({0.3F, -1.2F}), {-1, 0, Rounding::kHalfUp, true, 0, 1}),
              function(at::tensor({0.3F, -1.2F}), {-1, 0, Rounding::kHalfUp, false, 0, 1}));
  }
}

TEST(StepErrors, EqualATensQuantizer) {
  at::manual_seed(12);
  const at::Tensor x = at::randn({30011}) * 4;
  for (const auto function : {step_errors, step_errors_ref}) {
    const std::vector<double> found = function(x, {-128, 127, Rounding::kHalfEven, false, 2, 5});
    for (int e = 2; e < 7; ++e) {
      const at::Tensor y = at::fake_quantize_per_tensor_affine(x, std::ldexp(1.0, -e), 0, -128, 127);
      const double sum = (y.to(at::kDouble) - x.to(at::kDouble)).pow(2).sum().item<double>();
      EXPECT_NEAR(found[static_cast<std::size_t>(e - 2)], sum, sum * kSumError) << e;
    }
  }
}

}  // namespace
}  // namespace quench
