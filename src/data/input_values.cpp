#include <ATen/ATen.h>

#include "quench/data.h"

namespace quench {

InputValues::InputValues(const at::Tensor& only) : InputValues(RtValue(only)) {}
InputValues::InputValues(RtValue only) : values_{{"", std::move(only)}} {}
InputValues::InputValues(NamedValues values) : values_(std::move(values)) {
  QUENCH_CHECK(values_.size() <= 1 || !values_.contains(""), "one of ", values_.size(), " inputs has no name");
}

const RtValue& InputValues::only() const {
  QUENCH_CHECK(values_.size() == 1, "one input was expected, but the data gives ", values_.size());
  return values_.begin()->second;
}

const at::Tensor& InputValues::tensor() const { return only().tensor(); }

const RtValue& InputValues::at(const std::string& name) const {
  const auto found = values_.find(name);
  QUENCH_CHECK(found != values_.end(), "the data gives no '", name, "'");
  return found->second;
}

}  // namespace quench
