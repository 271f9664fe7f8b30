#include "quench/rt_value.h"

#include <ATen/ATen.h>

#include "graph/tensor_types.h"
#include "quench/error.h"

namespace quench {

struct RtValue::Sequence {
  std::vector<RtValue> elements;
  TypeInfo element;
};

RtValue::RtValue(const at::Tensor& tensor) : RtValue(tensor, dtype_of(tensor)) {}

RtValue::RtValue(const at::Tensor& tensor, DType dtype)
    : tensor_(std::make_shared<const at::Tensor>(tensor)), dtype_(dtype) {}

RtValue RtValue::sequence(std::vector<RtValue> elements, TypeInfo element) {
  RtValue value;
  value.sequence_ = std::make_shared<const Sequence>(Sequence{std::move(elements), std::move(element)});
  return value;
}

const at::Tensor& RtValue::tensor() const {
  QUENCH_CHECK(is_tensor(), "expected a tensor, found ", is_sequence() ? "a sequence" : "nothing");
  return *tensor_;
}

const std::vector<RtValue>& RtValue::elements() const {
  QUENCH_CHECK(is_sequence(), "expected a sequence, found ", is_tensor() ? "a tensor" : "nothing");
  return sequence_->elements;
}

TypeInfo RtValue::type() const {
  if (is_sequence()) return TypeInfo::sequence(sequence_->element);
  if (is_none()) return TypeInfo::optional({});
  return TypeInfo::tensor(dtype_, dims_of(*tensor_));
}

}  // namespace quench
