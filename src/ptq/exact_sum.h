// Sums of float32 numbers that are the same to the bit whatever the order in which the numbers come and however they
// are cut into batches. Each number is cut into integers, which are added exactly (docs/numerics.md 10.2; after Demmel
// and Nguyen 2015, "Parallel Reproducible Summation", with integer bins).
#pragma once

#include <cstdint>
#include <vector>

#include "ptq/counted_batch.h"

namespace at {
class Tensor;
}

namespace quench {

struct CutRows;

class ExactSum {
 public:
  ExactSum();
  ~ExactSum();
  ExactSum(ExactSum&&) noexcept;

  // Adds the rows of x (its first dim), element by element, `share` times. Throws if its rows have another shape than
  // those before, or if x is not finite: part of it is in the sum then.
  void add(const at::Tensor& x, Share share = {});

  bool has_rows_of(const at::Tensor& x) const;  // those rows have the shape of x's, or there were none
  double rows() const;                          // how many, by their shares
  at::Tensor total() const;                     // in double, of the shape of a row
  at::Tensor mean() const;                      // total() over rows()

 private:
  void start(const at::Tensor& x);
  at::Tensor laid_out(const at::Tensor& x) const;
  void make_room(int bin);
  void add_rows(const float* data, std::int64_t rows);
  int add_block(const float* data, const CutRows& rows, std::int64_t at);
  void add_share(const at::Tensor& x, Share share);
  void carry();

  std::vector<std::int64_t> sizes_, strides_;  // of a row
  int bin_ = 0;                                // that of the largest number so far
  std::vector<std::int64_t> high_, low_;       // in units of 2^(kBits bin_) and 2^(kBits (bin_ - 1))
  // What the last few rows add to them: narrow numbers, as the sums are too large for the cache.
  std::vector<std::int32_t> recent_high_, recent_low_;
  std::int64_t recent_ = 0;  // rows
  double rows_ = 0.0;
  bool empty_ = true;
};

}  // namespace quench
