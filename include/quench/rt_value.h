// A value at run time: a tensor plus our DType (int4 sits in an int8 tensor, one code per element), or a
// sequence of values, or an optional, or nothing (an absent optional input).
#pragma once

#include <memory>
#include <vector>

#include "quench/type_info.h"

namespace at {
class Tensor;
}

namespace quench {

class RtValue {
 public:
  RtValue() = default;                             // nothing: an absent input, an empty optional
  RtValue(const at::Tensor& tensor);               // NOLINT: a tensor is a value; its dtype is the tensor's
  RtValue(const at::Tensor& tensor, DType dtype);  // for types that LibTorch lacks
  // `element` is the type of the elements; an empty sequence has one too.
  static RtValue sequence(std::vector<RtValue> elements, TypeInfo element);

  bool is_none() const { return !tensor_ && !sequence_; }
  bool is_tensor() const { return tensor_ != nullptr; }
  bool is_sequence() const { return sequence_ != nullptr; }

  const at::Tensor& tensor() const;  // throws when it is not a tensor
  DType dtype() const { return dtype_; }
  const std::vector<RtValue>& elements() const;  // throws when it is not a sequence
  TypeInfo type() const;                         // with the dims that it has; of none: an optional

 private:
  struct Sequence;
  std::shared_ptr<const at::Tensor> tensor_;
  std::shared_ptr<const Sequence> sequence_;
  DType dtype_ = DType::kUndefined;
};

}  // namespace quench
