// The counts of one quantized tensor over any number of batches: ranges first, then what falls where.
#pragma once

#include "quench/tensor_histogram.h"

namespace at {
class Tensor;
}

namespace quench {

class ValueCounts {
 public:
  // `channel_axis` is used where one scale is for all; -1: it has no channels.
  ValueCounts(const Node& quantizer, int channel_axis);

  void see_range(const at::Tensor& x);  // of every batch, before the first count()
  void count(const at::Tensor& x);
  bool seen() const { return result_.elements > 0; }
  const TensorHistogram& result() const { return result_; }

 private:
  at::Tensor is_lost(const at::Tensor& x) const;
  void forget_channels();

  FakeQuantSpec spec_;
  QParams params_;
  QScheme by_channel_;
  bool has_channels_ = false;
  TensorHistogram result_;
};

}  // namespace quench
