#include "ptq/exact_sum.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "kernels/parallel.h"
#include "kernels/simd/simd.h"
#include "quench/error.h"

namespace quench {
namespace {

// A number is h 2^(kBits bin) + l 2^(kBits (bin - 1)) and a rest that is dropped, with h and l cut off towards zero.
// What each number adds to a bin thus depends on that number alone, and which two bins are kept on the largest of all.
constexpr int kBits = 25;
constexpr int kLowestBin = -3;                          // so that every unit and its inverse are normal float32 numbers
constexpr std::int64_t kRecentRows = 32;                // 2^kBits * 32 fits an int32
constexpr std::int64_t kBlock = 1024;                   // positions that are looked at and added in one go
constexpr std::int64_t kGrain = std::int64_t{1} << 15;  // elements that are worth a thread

int bin_of(double largest) {
  if (largest == 0.0) return kLowestBin;
  const int exponent = std::ilogb(largest);
  return std::max((exponent >= 0 ? exponent : exponent - kBits + 1) / kBits, kLowestBin);
}

float power(int exponent) { return std::ldexp(1.0F, exponent); }

CutUnits units_of(int bin) { return {power(kBits * bin), power(-kBits * bin), power(-kBits * (bin - 1))}; }

}  // namespace

ExactSum::ExactSum() = default;
ExactSum::~ExactSum() = default;
ExactSum::ExactSum(ExactSum&&) noexcept = default;

bool ExactSum::has_rows_of(const at::Tensor& x) const { return empty_ || x.sizes().slice(1) == sizes_; }
double ExactSum::rows() const { return rows_; }

// Sums lie as the first rows do: those of one network lie alike.
void ExactSum::start(const at::Tensor& x) {
  const std::int64_t positions = x.numel() / x.size(0);
  const bool whole_rows = x.is_non_overlapping_and_dense() && (x.size(0) == 1 || x.stride(0) == positions);
  const at::Tensor like = whole_rows ? x : x.contiguous();
  sizes_ = like.sizes().slice(1).vec();
  strides_ = like.strides().slice(1).vec();
  bin_ = kLowestBin;
  high_.assign(static_cast<std::size_t>(positions), 0);
  low_ = high_;
  recent_high_.assign(high_.size(), 0);
  recent_low_ = recent_high_;
  empty_ = false;
}

at::Tensor ExactSum::laid_out(const at::Tensor& x) const {
  const auto positions = static_cast<std::int64_t>(high_.size());
  const bool fits = x.strides().slice(1) == strides_ && (x.size(0) == 1 || x.stride(0) == positions);
  if (fits && x.scalar_type() == at::kFloat) return x;
  std::vector<std::int64_t> sizes = x.sizes().vec(), strides = strides_;
  strides.insert(strides.begin(), positions);
  return at::empty_strided(sizes, strides, at::kFloat).copy_(x);
}

void ExactSum::carry() {
  if (recent_ == 0) return;
  recent_ = 0;
  for (std::size_t i = 0; i < high_.size(); ++i) {
    high_[i] += recent_high_[i];
    low_[i] += recent_low_[i];
  }
  std::fill(recent_high_.begin(), recent_high_.end(), 0);
  std::fill(recent_low_.begin(), recent_low_.end(), 0);
}

void ExactSum::make_room(int bin) {
  if (bin_ < bin) carry();
  for (; bin_ < bin; ++bin_) {
    low_ = std::move(high_);
    high_.assign(low_.size(), 0);
  }
}

// Neighbouring positions of some rows, if they fit the bins; else nothing is added. Gives the bin that they need.
int ExactSum::add_block(const float* data, const CutRows& rows, std::int64_t at) {
  const StatisticsLoops& loops = simd().statistics;
  const double largest = loops.largest_magnitude(data + at, rows);
  QUENCH_CHECK(std::isfinite(largest), "a value that is to be averaged is not finite on this data");
  const int bin = bin_of(largest);
  if (bin <= bin_) loops.add_cut(data + at, rows, units_of(bin_), recent_high_.data() + at, recent_low_.data() + at);
  return bin;
}

// Blocks that need larger bins wait until there is room: to those before it is as if they came in a later batch. So
// each block is looked at and added while it is in the cache, and only the first rows are read twice.
void ExactSum::add_rows(const float* data, std::int64_t rows) {
  if (recent_ + rows > kRecentRows) carry();
  const auto positions = static_cast<std::int64_t>(high_.size());
  std::vector<std::int64_t> waiting;
  for (std::int64_t at = 0; at < positions; at += kBlock) waiting.push_back(at);
  while (!waiting.empty()) {
    recent_ += rows;
    std::vector<int> bins(waiting.size());
    in_parallel(static_cast<std::int64_t>(waiting.size()), std::max<std::int64_t>(kGrain / (kBlock * rows), 1),
                [&](std::int64_t from, std::int64_t to) {
                  for (auto i = static_cast<std::size_t>(from); i < static_cast<std::size_t>(to); ++i)
                    bins[i] = add_block(data, {rows, positions, std::min(kBlock, positions - waiting[i])}, waiting[i]);
                });
    std::size_t left = 0;
    for (std::size_t i = 0; i < waiting.size(); ++i)
      if (bins[i] > bin_) waiting[left++] = waiting[i];
    waiting.resize(left);
    make_room(*std::max_element(bins.begin(), bins.end()));  // carries: nothing is recent then
  }
}

// Divided after all rows are added: the sum of copies is a multiple of their number.
void ExactSum::add_share(const at::Tensor& x, Share share) {
  ExactSum all;
  all.add(x);
  all.carry();
  make_room(all.bin_);
  all.make_room(bin_);
  for (std::size_t i = 0; i < high_.size(); ++i) {
    high_[i] += all.high_[i] * share.times / share.of;
    low_[i] += all.low_[i] * share.times / share.of;
  }
}

void ExactSum::add(const at::Tensor& x, Share share) {
  QUENCH_CHECK(has_rows_of(x), "what is to be added is not of one size");
  if (x.numel() == 0) return;
  if (empty_) start(x);
  const at::Tensor items = laid_out(x.detach());
  const std::int64_t rows = items.size(0);
  rows_ += share.weight() * static_cast<double>(rows);
  if (share.weight() != 1.0) return add_share(items, share);
  const auto positions = static_cast<std::int64_t>(high_.size());
  for (std::int64_t row = 0; row < rows; row += kRecentRows)
    add_rows(items.const_data_ptr<float>() + row * positions, std::min(kRecentRows, rows - row));
}

at::Tensor ExactSum::total() const {
  at::Tensor sum = at::empty_strided(sizes_, strides_, at::kDouble);
  auto* data = sum.mutable_data_ptr<double>();
  for (std::size_t i = 0; i < high_.size(); ++i) {
    const auto high = static_cast<double>(high_[i] + recent_high_[i]);
    const auto low = static_cast<double>(low_[i] + recent_low_[i]);
    data[i] = std::ldexp(std::ldexp(high, kBits) + low, kBits * (bin_ - 1));
  }
  return sum;
}

at::Tensor ExactSum::mean() const { return total() / rows_; }

}  // namespace quench
