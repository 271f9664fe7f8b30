#include "ptq/exact_sum.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "quench/error.h"

namespace quench {
namespace {

// A number is h 2^(kBits bin) + l 2^(kBits (bin - 1)) and a rest that is dropped, with h and l cut off towards zero.
// What each number adds to a bin thus depends on that number alone, and which two bins are kept on the largest of all.
constexpr int kBits = 25;
constexpr int kLowestBin = -3;                          // so that every unit and its inverse are normal float32 numbers
constexpr std::int64_t kRowsAtOnce = 32;                // 2^kBits * 32 fits an int32
constexpr std::int64_t kBlock = 512;                    // positions; their sums stay in the L1 cache
constexpr std::int64_t kGrain = std::int64_t{1} << 15;  // elements that are worth a thread

using Block = std::array<std::int64_t, kBlock>;

int bin_of(double largest) {
  if (largest == 0.0) return kLowestBin;
  const int exponent = std::ilogb(largest);
  return std::max((exponent >= 0 ? exponent : exponent - kBits + 1) / kBits, kLowestBin);
}

float power(int exponent) { return std::ldexp(1.0F, exponent); }

struct Rows {
  const float* data;
  std::int64_t count, stride;
};

// The sums of `width` neighbouring positions over all rows.
void add_rows(const Rows& rows, std::int64_t width, int bin, Block& high, Block& low) {
  const float per_high = power(-kBits * bin), high_unit = power(kBits * bin), per_low = power(-kBits * (bin - 1));
  for (std::int64_t first = 0; first < rows.count; first += kRowsAtOnce) {
    std::array<std::int32_t, kBlock> some_high{}, some_low{};
    for (std::int64_t row = first; row < std::min(first + kRowsAtOnce, rows.count); ++row) {
      const float* x = rows.data + row * rows.stride;
      for (std::int64_t i = 0; i < width; ++i) {
        const auto h = static_cast<std::int32_t>(x[i] * per_high);
        const auto l = static_cast<std::int32_t>((x[i] - static_cast<float>(h) * high_unit) * per_low);
        some_high[i] += h;
        some_low[i] += l;
      }
    }
    for (std::int64_t i = 0; i < width; ++i) {
      high[i] += some_high[i];
      low[i] += some_low[i];
    }
  }
}

double largest_of(const at::Tensor& x) {
  const auto [low, high] = at::aminmax(x);
  const double largest = std::max(-low.item<double>(), high.item<double>());
  QUENCH_CHECK(std::isfinite(largest), "a value that is to be averaged is not finite on this data");
  return largest;
}

}  // namespace

ExactSum::ExactSum() = default;
ExactSum::~ExactSum() = default;
ExactSum::ExactSum(ExactSum&&) noexcept = default;

bool ExactSum::has_rows_of(const at::Tensor& x) const { return empty_ || x.sizes().slice(1) == sizes_; }
double ExactSum::rows() const { return rows_; }

void ExactSum::make_room(int bin) {
  for (; bin_ < bin; ++bin_) {
    low_ = std::move(high_);
    high_.assign(low_.size(), 0);
  }
}

void ExactSum::add(const at::Tensor& x, Share share) {
  QUENCH_CHECK(has_rows_of(x), "what is to be added is not of one size");
  const at::Tensor items = x.detach().to(at::kFloat).contiguous();
  const std::int64_t rows = items.size(0), positions = rows == 0 ? 0 : items.numel() / rows;
  if (items.numel() == 0) return;
  const int bin = bin_of(largest_of(items));
  if (empty_) {
    sizes_ = items.sizes().slice(1).vec();
    bin_ = bin;
    high_.assign(static_cast<std::size_t>(positions), 0);
    low_ = high_;
    empty_ = false;
  }
  make_room(bin);
  const auto* data = items.const_data_ptr<float>();
  const std::int64_t blocks = (positions + kBlock - 1) / kBlock;
  at::parallel_for(0, blocks, std::max<std::int64_t>(kGrain / (kBlock * rows), 1),
                   [&](std::int64_t from, std::int64_t to) {
                     for (std::int64_t block = from; block < to; ++block) {
                       const std::int64_t at = block * kBlock, width = std::min(kBlock, positions - at);
                       Block high{}, low{};
                       add_rows({data + at, rows, positions}, width, bin_, high, low);
                       for (std::int64_t i = 0; i < width; ++i) {
                         high_[at + i] += high[i] * share.times / share.of;
                         low_[at + i] += low[i] * share.times / share.of;
                       }
                     }
                   });
  rows_ += share.weight() * static_cast<double>(rows);
}

at::Tensor ExactSum::total() const {
  at::Tensor sum = at::empty(sizes_, at::kDouble);
  auto* data = sum.mutable_data_ptr<double>();
  for (std::size_t i = 0; i < high_.size(); ++i)
    data[i] =
        std::ldexp(std::ldexp(static_cast<double>(high_[i]), kBits) + static_cast<double>(low_[i]), kBits * (bin_ - 1));
  return sum;
}

at::Tensor ExactSum::mean() const { return total() / rows_; }

}  // namespace quench
