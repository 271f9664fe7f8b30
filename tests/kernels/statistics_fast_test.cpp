// The fast statistics against their plain twins on every instruction set and thread count that this machine has.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/layouts.h"
#include "kernels/simd/simd.h"
#include "kernels/statistics/statistics.h"
#include "quant/power.h"

namespace quench {
namespace {

// body() on each; what it gives must be the same bits everywhere.
template <class Body>
void everywhere(const std::string& name, const Body& body) {
  const SimdChoices choices = simd_choices();
  const int threads = at::get_num_threads();
  force_simd(choices.loops[0]);
  const std::vector<at::Tensor> first = body();
  for (int k = 0; k < choices.count; ++k)
    for (const int count : {1, 2}) {
      force_simd(choices.loops[k]);
      at::set_num_threads(count);
      const std::vector<at::Tensor> found = body();
      for (std::size_t i = 0; i < first.size(); ++i)
        EXPECT_TRUE(at::equal(found[i], first[i])) << name << ": " << choices.loops[k]->name << ", " << count;
    }
  force_simd(nullptr);
  at::set_num_threads(threads);
}

at::Tensor as_tensor(const std::vector<float>& values) { return at::tensor(values); }

std::vector<LayoutCase> cases() {
  at::manual_seed(21);
  std::vector<LayoutCase> all = layout_cases("int8 symmetric");
  all.push_back({"longer than a part", at::randn({300007}), QScheme()});
  all.push_back({"wide rows", at::randn({500, 700}), QScheme::parse("int8 channel:1")});
  all.push_back({"three channels last", at::randn({2, 3, 90, 91}).contiguous(at::MemoryFormat::ChannelsLast),
                 QScheme::parse("int8 channel:1")});
  all.push_back({"half zeros", at::randn({300007}).relu(), QScheme()});
  all.push_back({"zeros", at::zeros({300007}), QScheme()});
  all.push_back({"odd pieces with zeros", at::randn({300, 3, 27, 19}).relu(), QScheme::parse("int8 channel:1")});
  all.push_back({"long channels", at::randn({3, 70001}), QScheme::parse("int8 channel:0")});
  return all;
}

TEST(FastStatistics, GiveTheSameBitsEverywhere) {
  for (const LayoutCase& one : cases())
    everywhere(one.name, [&]() -> std::vector<at::Tensor> {
      at::Tensor min, max, sum, squares, absolute;
      min_max(one.x, one.scheme, min, max);
      moments(one.x, one.scheme, sum, squares, absolute);
      const at::Tensor counts = histogram(one.x, {one.scheme, min, max, 512, false});
      EXPECT_TRUE(at::equal(counts, histogram_ref(one.x, {one.scheme, min, max, 512, false}))) << one.name;
      return {min, max, sum, squares, absolute, counts};
    });
}

// Bins on a grid from -8 on, 1/64 wide, which hold all values.
struct OnGrid {
  QScheme scheme;
  at::Tensor low = at::tensor({-8.0F}), width = at::tensor({1.0F / 64});
  HistogramArgs args(bool absolute, bool all) const { return {scheme, low, width, 1024, absolute, true, all}; }
};

TEST(FastStatistics, CountsAndRangeInOnePassAreThoseOfTwo) {
  at::manual_seed(25);
  const OnGrid grid;
  for (const bool absolute : {false, true})
    for (const at::Tensor& x : {at::randn({300007}), at::randn({300007}).relu(), at::randn({1023}), at::zeros({3000}),
                                at::rand({140001}) + 3, at::tensor({0.0F, -0.0F, 7.99F, -7.99F})})
      everywhere("one pass", [&]() -> std::vector<at::Tensor> {
        const at::Tensor wanted = histogram_ref(x, grid.args(absolute, false));
        EXPECT_TRUE(at::equal(histogram(x, grid.args(absolute, true)), wanted));
        at::Tensor counts = at::ones({1, 1024}, at::kDouble);
        SeenRange range{0.25F, 0.5F};
        EXPECT_TRUE(add_histogram_inside(x, grid.args(absolute, true), range, counts));
        EXPECT_TRUE(at::equal(counts - 1, wanted));
        EXPECT_EQ(range.min, std::min(0.25F, x.min().item<float>()));
        EXPECT_EQ(range.max, std::max(0.5F, x.max().item<float>()));
        return {counts};
      });
}

TEST(FastStatistics, OnePassChangesNothingWhereAValueIsInNoBin) {
  at::manual_seed(26);
  const OnGrid grid;
  for (const float odd : {8.0F, -8.01F, 1e30F, INFINITY, -INFINITY, NAN})
    for (const std::int64_t at : {0, 20, 1023, 150000, 200002})
      everywhere("in no bin", [&]() -> std::vector<at::Tensor> {
        at::Tensor x = at::randn({200003}), counts = at::zeros({1, 1024}, at::kDouble);
        x[at] = odd;
        SeenRange range{0, 0};
        EXPECT_FALSE(add_histogram_inside(x, grid.args(false, true), range, counts)) << odd << " at " << at;
        EXPECT_EQ(range.min, 0);
        EXPECT_EQ(range.max, 0);
        return {counts};
      });
}

TEST(FastStatistics, SearchesGiveTheSameBitsEverywhere) {
  for (const LayoutCase& one : cases())
    for (const double power : {2.0, 2.4, 1.0})
      everywhere(one.name, [&]() -> std::vector<at::Tensor> {
        at::Tensor min, max;
        min_max_ref(one.x, one.scheme, min, max);
        const auto vector = [](const at::Tensor& t) {
          const at::Tensor flat = t.flatten().contiguous();
          return std::vector<float>(flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel());
        };
        const SearchArgs args{one.scheme, vector(min), vector(max), power, 12};
        const RangeSearch exact = search_range(one.x, args);
        const at::Tensor counts = histogram(one.x, {one.scheme, min, max, 64, false});
        const RangeSearch binned = search_histogram({counts, args.min, args.max}, args);
        return {as_tensor(exact.min),  as_tensor(exact.max),  at::tensor(exact.error),
                as_tensor(binned.min), as_tensor(binned.max), at::tensor(binned.error)};
      });
}

TEST(FastStatistics, StepErrorsGiveTheSameBitsEverywhere) {
  at::manual_seed(22);
  const at::Tensor x = (at::randn({50001}) * 64).round() / 16;  // many ties
  for (const Rounding rule : {Rounding::kHalfEven, Rounding::kHalfUpNegative, Rounding::kHalfUp, Rounding::kHalfAway})
    for (const bool first : {false, true}) {
      const StepErrorArgs args{-128, 127, rule, first, 0, 6};
      everywhere("steps", [&]() -> std::vector<at::Tensor> { return {at::tensor(step_errors(x, args))}; });
      const std::vector<double> fast = step_errors(x, args), plain = step_errors_ref(x, args);
      // Float32 sums of 32 terms: 32 * 2^-24; the errors themselves are exact here.
      for (std::size_t i = 0; i < fast.size(); ++i) EXPECT_NEAR(fast[i], plain[i], plain[i] * 2e-6);
    }
}

// A long tensor takes the way with a guess and candidates dropped; the winner is that of a full scan.
TEST(FastStatistics, TheSearchThatGivesUpFindsTheSameWinner) {
  at::manual_seed(23);
  const at::Tensor tails = at::randn({200003}) * at::rand({200003}).pow(3);
  for (const at::Tensor& x : {at::randn({200003}), tails, at::randn({200003}).relu(), at::rand({200003}) + 3})
    for (const char* text : {"int8 symmetric tensor", "uint4 affine tensor", "int3 symmetric tensor pot"})
      for (const double power : {2.0, 2.4}) {
        const QScheme scheme = QScheme::parse(text);
        const SearchArgs args{scheme, {x.min().item<float>()}, {x.max().item<float>()}, power, power == 2.0 ? 95 : 20};
        const RangeSearch fast = search_range(x, args), plain = search_range_ref(x, args);
        // Sums differ by 2e-6 (float32 parts) and, where p is not a whole number, by the power's own 1e-5.
        EXPECT_NEAR(fast.error[0], plain.error[0], plain.error[0] * (power == 2.0 ? 2e-6 : 1e-5)) << text;
        EXPECT_EQ(fast.max[0], plain.max[0]) << text << " " << power;
      }
}

TEST(FastStatistics, HistogramSearchEqualsThePlainOne) {
  at::manual_seed(24);
  const at::Tensor counts = at::rand({3, 500}, at::kDouble) * (at::rand({3, 500}, at::kDouble) > 0.5);
  const std::vector<float> low{-3, -1, 0}, high{2, 1, 5};
  for (const char* text : {"int8 symmetric channel:0", "uint4 affine channel:0", "int16 symmetric channel:0"})
    for (const double power : {2.0, 2.4, 1.0, 0.5}) {
      const SearchArgs args{QScheme::parse(text), low, high, power, 80};
      const RangeSearch fast = search_histogram({counts, low, high}, args);
      const RangeSearch plain = search_histogram_ref({counts, low, high}, args);
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_EQ(fast.min[c], plain.min[c]) << text << " " << power;
        EXPECT_EQ(fast.max[c], plain.max[c]) << text << " " << power;
        // F is up to (R/s)^p times the error, and good to 2^-48 (16 bits: s = R / 2^16).
        EXPECT_NEAR(fast.error[c], plain.error[c], plain.error[c] * 1e-5) << text << " " << power;
      }
    }
}

TEST(Power, IsThatOfTheLibrary) {
  for (const double p : {0.5, 1.0, 2.4, 3.4, 4.5})
    for (double x = 1e-6; x < 100; x *= 1.0371) {
      const double wanted = std::pow(x, p), size = 1 + std::abs(p * std::log2(x));
      EXPECT_NEAR(power_of(x, p), wanted, wanted * std::ldexp(size, -48)) << x << " " << p;
      const auto narrow = static_cast<float>(x);
      const double close = std::pow(static_cast<double>(narrow), static_cast<double>(static_cast<float>(p)));
      EXPECT_NEAR(power_of(narrow, static_cast<float>(p)), close, close * std::ldexp(size, -22) + 1e-37);
    }
  EXPECT_EQ(power_of(0.0F, 2.4F), 0.0F);
  EXPECT_EQ(power_of(0.0, 2.4), 0.0);
}

}  // namespace
}  // namespace quench
